import NephosCrypto
import NephosStorage
import NephosWire

/// A signed list of a share's participants, with the bytes that were signed.
struct SignedParticipants {
    let list: ParticipantList
    let bytes: [UInt8]
}

/// The last signed list of a share's participants, and the marks of participants that no device has signed since a
/// caller without keys gave them access. The owner's library hands the share's key to no participant with such a mark.
enum StoredParticipants {
    /// The identifier in a list that stands for every account with the share's URL.
    static let everyone = ""

    /// The last signed list; nil if there is none.
    static func list(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> [UInt8]? {
        try reader.keys(zone: zone, kind: .participantList, subject: group).first?.body
    }

    /// The identifiers of the participants with a mark.
    static func unsigned(of group: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> Set<String> {
        Set(
            try reader.keys(zone: zone, kind: .unsignedParticipant, subject: group).map {
                String(decoding: $0.id, as: UTF8.self)
            })
    }

    /// Stores a list in place of the last one, and removes the marks of the participants that it names.
    static func put(
        _ signed: SignedParticipants, of group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        try transaction.put(
            KeyRow(zone: zone, kind: .participantList, subject: group, id: [], body: signed.bytes))
        for id in try unsigned(of: group, zone, transaction) where signed.list.covers(id) {
            try unmark(id, of: group, zone, in: transaction)
        }
    }

    static func mark(
        _ ids: Set<String>, of group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        for id in ids {
            try transaction.put(
                KeyRow(zone: zone, kind: .unsignedParticipant, subject: group, id: Array(id.utf8), body: [1]))
        }
    }

    static func unmark(
        _ id: String, of group: String, _ zone: ZoneKey, in transaction: StorageTransaction
    ) throws {
        try transaction.removeKey(zone: zone, kind: .unsignedParticipant, subject: group, id: Array(id.utf8))
    }
}

extension ShareParticipantRow {
    /// Whether the participant has access, and no mark says that it was given unsigned.
    func mayHaveKey(of share: ShareRow, _ unsigned: Set<String>) -> Bool {
        isParticipant && permission(in: share) != .none && !unsigned.contains(id)
            && !(joinedByURL && unsigned.contains(StoredParticipants.everyone))
    }

    var joinedByURL: Bool { ParticipantRole(number: role) == .publicUser }
}

extension ParticipantList {
    /// Whether the list names a participant, or all accounts that have the share's URL.
    func covers(_ id: String) -> Bool { id == StoredParticipants.everyone ? isOpen : participants.contains(id) }
}
