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
        /// What an account's devices share, where the service keeps that.
        case escrow = 5
        /// The same key as a `groupKey` for another account. The ID is the version, and the account's key.
        case groupBox = 6
        /// What a share's URL opens. The ID is empty, or the participant's whose one-time URL it is.
        case link = 7
        /// What is to be made good of a group's keys.
        case groupState = 8
        /// What two of an account's devices say to each other. The subject is the message's ID.
        case deviceMessage = 9
        /// The list of devices of an administrator who signed a group's keys. The ID is the account's key.
        case groupSigner = 10
        /// That the record that is the subject has left a share whose key alone wraps one of its own.
        case leftRecord = 11
        /// That the zone's key itself seals the values of its records.
        case perZone = 12
    }

    /// The zone; of what is an account's, the account's owner and 0.
    package var zone: ZoneKey
    package var kind: Kind
    package var subject: String
    /// Unique among those of one zone, kind and subject, and their order, byte by byte.
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
