/// The key that seals values of a record, wrapped under the key of a group (Documentation/Encryption.md).
package struct WrappedRecordKey: Hashable, Sendable {
    /// Bytes of a key's ID, which sealed values carry.
    package static let idSize = 8

    package var id: [UInt8]
    /// The group's version.
    package var version: Int64
    package var wrapped: [UInt8]

    package init(id: [UInt8], version: Int64, wrapped: [UInt8]) {
        self.id = id
        self.version = version
        self.wrapped = wrapped
    }
}

/// A zone's key in one version, as the service keeps it.
package struct WrappedGroupKey: Hashable, Sendable {
    /// 1, 2, 3, ….
    package var version: Int64
    /// Whose account key it is sealed for, that key's public half.
    package var recipient: [UInt8]
    /// The key, in a sealed box.
    package var box: [UInt8]
    /// The key of the version before, sealed under this one; empty in the first.
    package var previous: [UInt8]
    /// The device that made it, its public key.
    package var signer: [UInt8]
    package var signature: [UInt8]

    package init(
        version: Int64, recipient: [UInt8], box: [UInt8], previous: [UInt8], signer: [UInt8], signature: [UInt8]
    ) {
        self.version = version
        self.recipient = recipient
        self.box = box
        self.previous = previous
        self.signer = signer
        self.signature = signature
    }
}

/// Our addition, `keys/account`: the account's devices, and what opens its keys.
package struct AccountKeysRequest: Hashable, Sendable {
    package init() {}
}

/// Our addition, `keys/enroll`: appends to the list of the account's devices.
package struct EnrollRequest: Hashable, Sendable {
    /// How many entries the list has before.
    package var position: Int64
    package var entry: [UInt8]
    /// Account keys in sealed boxes, each for a device.
    package var boxes: [AccountKeyBox]
    /// The secrets, where the service keeps them for the account's devices.
    package var escrow: [UInt8]?

    package init(position: Int64, entry: [UInt8], boxes: [AccountKeyBox] = [], escrow: [UInt8]? = nil) {
        self.position = position
        self.entry = entry
        self.boxes = boxes
        self.escrow = escrow
    }
}

/// An account key in a sealed box for one device.
package struct AccountKeyBox: Hashable, Sendable {
    /// The device's public key for boxes.
    package var device: [UInt8]
    package var version: Int64
    package var box: [UInt8]

    package init(device: [UInt8], version: Int64, box: [UInt8]) {
        self.device = device
        self.version = version
        self.box = box
    }
}

/// The answer of `keys/account` and `keys/enroll`.
package struct AccountKeysResponse: Hashable, Sendable {
    /// Whether the service keeps keys for the account's devices (`nephos dev`).
    package var escrows: Bool
    package var escrow: [UInt8]?
    /// The list of devices, from its first entry.
    package var entries: [[UInt8]]
    package var boxes: [AccountKeyBox]

    package init(escrows: Bool, escrow: [UInt8]? = nil, entries: [[UInt8]] = [], boxes: [AccountKeyBox] = []) {
        self.escrows = escrows
        self.escrow = escrow
        self.entries = entries
        self.boxes = boxes
    }
}

/// Our addition, `keys/lookup`: a zone's keys, and those of some of its records.
package struct LookupKeysRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var wantsGroup: Bool
    package var recordNames: [String]

    package init(zoneID: ZoneIDDictionary?, wantsGroup: Bool, recordNames: [String]) {
        self.zoneID = zoneID
        self.wantsGroup = wantsGroup
        self.recordNames = recordNames
    }
}

/// The answer of `keys/lookup` and `keys/group`.
package struct KeysResponse: Hashable, Sendable {
    package struct Record: Hashable, Sendable {
        package var recordName: String
        package var keys: [WrappedRecordKey]

        package init(recordName: String, keys: [WrappedRecordKey]) {
            self.recordName = recordName
            self.keys = keys
        }
    }

    /// By version.
    package var group: [WrappedGroupKey]
    package var records: [Record]

    package init(group: [WrappedGroupKey] = [], records: [Record] = []) {
        self.group = group
        self.records = records
    }
}

/// Our addition, `keys/group`: a zone's key in its next version.
package struct PutGroupKeyRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var key: WrappedGroupKey

    package init(zoneID: ZoneIDDictionary?, key: WrappedGroupKey) {
        self.zoneID = zoneID
        self.key = key
    }
}
