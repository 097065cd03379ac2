/// A wrapped key of an account, group or record, or another entry that belongs to such keys, such as an entry of a
/// device list.
package struct KeyRow: Hashable, Sendable {
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        /// An entry of an account's device list. The ID is the entry's number.
        case listEntry = 1
        /// An account's key, wrapped for one device, which is the subject. The ID is the version of the key.
        case accountKey = 2
        /// The key of a zone, or of a share, which is the subject. The ID is the version of the key.
        case groupKey = 3
        /// The key of a record, which is the subject.
        case recordKey = 4
        /// The secrets that the devices of an account share, if the service escrows them.
        case escrow = 5
        /// A `groupKey`, sealed for another account. The ID is the version of the key and the account's public key.
        case groupBox = 6
        /// The key that a share's URL unlocks. The ID is empty, or identifies the participant with a one-time URL.
        case link = 7
        /// The pending repairs of a group's keys.
        case groupState = 8
        /// A message from one of an account's devices to another. The subject is the message's ID.
        case deviceMessage = 9
        /// The device list of an administrator who signed a group's keys. The ID is the administrator's account key.
        case groupSigner = 10
        /// Marks a record, which is the subject, that left a share while only the share's key wraps one of its keys.
        case leftRecord = 11
        /// Marks a zone whose own key seals the values of its records.
        case perZone = 12
        /// The last signed list of the participants of a share, which is the subject.
        case participantList = 13
        /// Marks a participant of a share, which is the subject, that no device has signed since a caller without keys
        /// gave it access. The ID is the participant's; the empty ID stands for all accounts that have the share's URL.
        case unsignedParticipant = 14
        /// The identifiers of former participants of a share, which is the subject.
        case formerParticipants = 15
    }

    /// The zone. For an account's keys it is the account's owner and the zone ID 0.
    package var zone: ZoneKey
    package var kind: Kind
    package var subject: String
    /// The ID of the row, unique within zone, kind and subject. Rows sort by it, byte by byte.
    package var id: [UInt8]
    /// The encoded key or entry, opaque to the storage layer.
    package var body: [UInt8]

    package init(zone: ZoneKey, kind: Kind, subject: String = "", id: [UInt8], body: [UInt8]) {
        self.zone = zone
        self.kind = kind
        self.subject = subject
        self.id = id
        self.body = body
    }
}
