/// A position in the feed of a zone that is shared with an account, opaque to clients: how far each share was read that it
/// takes part in. It names the time at which the account joined, so that one from before it left does not fit.
struct SharedZoneToken: Equatable {
    struct Position: Equatable {
        var share: Int64
        var joined: Int64
        /// The change sequence up to which the share was read.
        var sequence: Int64
        /// What was gone at this change sequence was never on the device, or is known to be gone.
        var deletionsKnown: Int64
    }

    var zone: Int64
    var positions: [Position]

    private static let version: UInt8 = 4

    init(zone: Int64, positions: [Position] = []) {
        self.zone = zone
        self.positions = positions
    }

    // MARK: As text

    func text(_ strings: OpaqueStrings) -> String {
        let numbers = [zone] + positions.flatMap { [$0.share, $0.joined, $0.sequence, $0.deletionsKnown] }
        let bytes = numbers.reduce(into: [Self.version]) { bytes, number in
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
        return strings.text(bytes, for: .syncToken)
    }

    /// Nil for what is no token of such a zone's, or not of that database's.
    init?(_ text: String, _ strings: OpaqueStrings) {
        guard let bytes = strings.content(of: text, for: .syncToken), bytes.first == Self.version,
            bytes.count % 32 == 9
        else { return nil }
        let numbers = stride(from: 1, to: bytes.count, by: 8).map { start in
            bytes[start..<start + 8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        }
        zone = numbers[0]
        positions = stride(from: 1, to: numbers.count, by: 4).map { index in
            Position(
                share: numbers[index], joined: numbers[index + 1], sequence: numbers[index + 2],
                deletionsKnown: numbers[index + 3])
        }
    }
}
