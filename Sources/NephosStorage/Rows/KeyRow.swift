/// A wrapped key, or an entry of an account's list of devices.
package struct KeyRow: Hashable, Sendable {
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        /// An entry of an account's list of devices. The ID is its number.
        case listEntry = 1
        /// An account's key, wrapped for the device that is the subject. The ID is the version.
        case accountKey = 2
        /// The key of a zone, or of the share that is the subject. The ID is the version.
        case groupKey = 3
        /// The key of the record that is the subject.
        case recordKey = 4
        /// The secrets that an account's devices share, if the service keeps them.
        case escrow = 5
        /// The same key as a `groupKey` for another account. The ID is the version, and the account's key.
        case groupBox = 6
        /// The key behind a share's URL. The ID is empty, or that of the participant with the one-time URL.
        case link = 7
        /// The pending repairs of a group's keys.
        case groupState = 8
        /// A message between two of an account's devices. The subject is the message's ID.
        case deviceMessage = 9
        /// The list of devices of an administrator who signed a group's keys. The ID is the account's key.
        case groupSigner = 10
        /// Marks that the record that is the subject has left a share whose key alone wraps one of its keys.
        case leftRecord = 11
        /// Marks that the zone's key itself seals the values of its records.
        case perZone = 12
    }

    /// The zone; for an account's keys, the account's owner and 0.
    package var zone: ZoneKey
    package var kind: Kind
    package var subject: String
    /// Unique within zone, kind and subject, and their order, byte by byte.
    package var id: [UInt8]
    /// Opaque here.
    package var body: [UInt8]

    package init(zone: ZoneKey, kind: Kind, subject: String = "", id: [UInt8], body: [UInt8]) {
        self.zone = zone
        self.kind = kind
        self.subject = subject
        self.id = id
        self.body = body
    }
}
