import NephosStorage

/// The identifiers of the participants that a share had before. A client chooses the identifier of a participant that it
/// adds, but none of these: a device that signs who takes part names identifiers, so an identifier must not pass to
/// another account between the device's look at the participants and its signature.
struct FormerParticipants {
    private var ids: Set<String>

    /// The former participants of the shares of a key group.
    static func read(
        _ group: String, _ zone: ZoneKey, _ reader: StorageReader
    ) throws -> FormerParticipants {
        let body = try reader.keys(zone: zone, kind: .formerParticipants, subject: group).first?.body ?? []
        let starts = stride(from: 0, to: body.count, by: length)
        return FormerParticipants(
            ids: Set(starts.map { String(decoding: body[$0..<min($0 + length, body.count)], as: UTF8.self) }))
    }

    /// Returns whether a client may choose an identifier, as far as former participants matter. It has the form of a
    /// UUID. The service chooses every identifier once it would have to remember too many.
    func admits(_ id: String) -> Bool {
        ids.count < Limits.formerParticipants && Self.isIdentifier(id) && !ids.contains(id.uppercased())
    }

    /// Notes participants that leave the share of a key group.
    static func note(
        _ rows: [ShareParticipantRow], of group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        let leaving = rows.filter(\.isParticipant).map(\.id).filter(isIdentifier).map { $0.uppercased() }
        if leaving.isEmpty { return }
        let former = try read(group, zone, transaction)
        if former.ids.count >= Limits.formerParticipants { return }
        let body = former.ids.union(leaving).sorted().flatMap { Array($0.utf8) }
        try transaction.put(
            KeyRow(zone: zone, kind: .formerParticipants, subject: group, id: [], body: body))
    }

    private static let length = 36
    private static let dashes: Set = [8, 13, 18, 23]

    private static func isIdentifier(_ id: String) -> Bool {
        let bytes = Array(id.utf8)
        return bytes.count == length
            && bytes.enumerated().allSatisfy { index, byte in
                dashes.contains(index)
                    ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isASCIIHexDigit
            }
    }
}

extension Character {
    fileprivate var isASCIIHexDigit: Bool { isASCII && isHexDigit }
}
