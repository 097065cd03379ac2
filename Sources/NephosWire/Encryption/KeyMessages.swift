/// The key that seals values of a record, wrapped under the key of a group (Documentation/Encryption.md).
package struct WrappedRecordKey: Hashable, Sendable {
    /// Bytes of a key's ID, which sealed values carry.
    package static let idSize = 8

    package var id: [UInt8]
    /// Whose key wraps it: that of the share of this name, or, if it is empty, that of the zone.
    package var group: String
    /// The group's version.
    package var version: Int64
    package var wrapped: [UInt8]
    /// Whether it was wrapped for the group because the record came there, and not made for it: such a key opens values
    /// and seals no more.
    package var isInherited: Bool
    /// Whether it was wrapped for others than the group's, and so seals no more, as the service says.
    package var isSpent = false
    /// Which key wraps it (`GroupKeyID`), so that a former zone's of the same name is refused; empty where that is not said,
    /// and as it is stored.
    package var groupKeyID: [UInt8] = []

    package init(id: [UInt8], group: String = "", version: Int64, wrapped: [UInt8], isInherited: Bool = false) {
        self.id = id
        self.group = group
        self.version = version
        self.wrapped = wrapped
        self.isInherited = isInherited
    }
}

/// A group's key in one version, as the service keeps it, for one recipient.
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
    /// Whose devices may make the versions that follow besides the owner's, as the hashes of their lists' first entries: a
    /// share's administrators. The owner's devices alone say so.
    package var administrators: [[UInt8]] = []

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
    /// Without an entry, what a device asks that is not on the list.
    package var message: DeviceMessage?

    package init(
        position: Int64, entry: [UInt8], boxes: [AccountKeyBox] = [], escrow: [UInt8]? = nil,
        message: DeviceMessage? = nil
    ) {
        self.position = position
        self.entry = entry
        self.boxes = boxes
        self.escrow = escrow
        self.message = message
    }
}

/// What two devices say to each other that share a secret, which a person carried from one to the other.
package struct DeviceMessage: Hashable, Sendable {
    package static let idSize = 16

    /// Follows from the secret.
    package var id: [UInt8]
    /// Of the device that is to be approved; empty of a recovery key.
    package var request: [UInt8]
    /// Of one that is on the list; empty until then.
    package var reply: [UInt8]

    package init(id: [UInt8], request: [UInt8] = [], reply: [UInt8] = []) {
        self.id = id
        self.request = request
        self.reply = reply
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
    package var messages: [DeviceMessage] = []

    package init(escrows: Bool, escrow: [UInt8]? = nil, entries: [[UInt8]] = [], boxes: [AccountKeyBox] = []) {
        self.escrows = escrows
        self.escrow = escrow
        self.entries = entries
        self.boxes = boxes
    }
}

/// What a share's URL has in its fragment, as far as the service may know it.
package struct WrappedLink: Hashable, Sendable {
    /// Of the group's key.
    package var version: Int64
    /// The group's key, sealed under the link's secret: for clients that have the URL. Empty where none may come by it.
    package var key: [UInt8]
    /// The link's secret, sealed under the group's key: for participants.
    package var secret: [UInt8]

    package init(version: Int64, key: [UInt8], secret: [UInt8]) {
        self.version = version
        self.key = key
        self.secret = secret
    }
}

/// Our addition, `keys/reset`: ends the account's list of devices and all its keys.
package struct ResetKeysRequest: Hashable, Sendable {
    package init() {}
}

/// What a one-time URL has in its fragment, as far as the service may know it.
package struct OneTimeLink: Hashable, Sendable {
    /// The participant who is to use it.
    package var participantID: String
    package var link: WrappedLink

    package init(participantID: String, link: WrappedLink) {
        self.participantID = participantID
        self.link = link
    }
}

/// The list of devices of an administrator who signed a group's keys, as it was then.
package struct GroupSigner: Hashable, Sendable {
    package var userRecordName: String
    package var entries: [[UInt8]]

    package init(userRecordName: String, entries: [[UInt8]]) {
        self.userRecordName = userRecordName
        self.entries = entries
    }
}

/// Our addition, `keys/lookup`: a group's keys, and those of some of the zone's records.
package struct LookupKeysRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    /// The name of the share whose keys they are; empty for the zone's.
    package var group: String
    package var wantsGroup: Bool
    /// Whether the owner wants to know for whom the key is to be wrapped.
    package var wantsMembers: Bool
    /// Records of which, and of what is below them, those are wanted whose keys are not wrapped for the group.
    package var missingBelow: [String]
    /// Whether the owner wants the records that have left a share whose key alone wraps theirs.
    package var wantsLeft = false
    package var recordNames: [String]

    package init(
        zoneID: ZoneIDDictionary?, group: String = "", wantsGroup: Bool, wantsMembers: Bool = false,
        missingBelow: [String] = [], recordNames: [String] = []
    ) {
        self.zoneID = zoneID
        self.group = group
        self.wantsGroup = wantsGroup
        self.wantsMembers = wantsMembers
        self.missingBelow = missingBelow
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

    /// Who takes part in what the group's key is for, or is invited.
    package struct Member: Hashable, Sendable {
        /// Empty where the account is not known yet.
        package var userRecordName: String
        /// Its list of devices.
        package var entries: [[UInt8]]
        /// For which account key it has the last version; empty where it has not.
        package var recipient: [UInt8]
        /// Whether it may hand the share's keys over.
        package var isAdministrator = false
        /// The participant's identifier, where it is to come by a one-time URL.
        package var oneTimeID: String?

        package init(userRecordName: String, entries: [[UInt8]], recipient: [UInt8]) {
            self.userRecordName = userRecordName
            self.entries = entries
            self.recipient = recipient
        }
    }

    /// By version.
    package var group: [WrappedGroupKey]
    /// The group's key for the caller's account, where that is not the owner's.
    package var boxes: [WrappedGroupKey]
    package var link: WrappedLink?
    /// Those of one-time URLs that were not used yet; for a participant the one that it came by.
    package var oneTimeLinks: [OneTimeLink] = []
    /// The administrators who signed versions of the key, or boxes.
    package var signers: [GroupSigner] = []
    /// The list of the owner's devices, for others.
    package var ownerEntries: [[UInt8]]
    package var members: [Member]
    /// Whether the zone's key itself seals the values of its records.
    package var isPerZone = false
    /// Whether what the group's key is for is shared.
    package var isShared = false
    /// Whether an account may come by the share's URL, and its link has not the key.
    package var wantsLink = false
    /// Whether a former participant has the last version, which is not to have the next one.
    package var isStale: Bool
    /// Counts what happened to the group that its owner's library has to make good.
    package var attention: Int64
    /// Whether records have left a share whose key alone wraps theirs.
    package var hasLeft = false
    package var records: [Record]
    /// Whether more records' keys are to be wrapped.
    package var hasMore: Bool

    package init(group: [WrappedGroupKey] = [], records: [Record] = []) {
        self.group = group
        self.records = records
        boxes = []
        ownerEntries = []
        members = []
        isStale = false
        attention = 0
        hasMore = false
    }
}

/// A group's key for an account that is not the owner's.
package struct GroupBox: Hashable, Sendable {
    /// Whose; empty is the caller's.
    package var userRecordName: String
    /// Without the key of the version before.
    package var key: WrappedGroupKey

    package init(userRecordName: String = "", key: WrappedGroupKey) {
        self.userRecordName = userRecordName
        self.key = key
    }
}

/// Our addition, `keys/group`: a group's key in its next version, for whom it is wrapped, and records' keys under it.
package struct PutGroupKeyRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var group: String
    /// The next version.
    package var key: WrappedGroupKey?
    /// The group's key for others.
    package var boxes: [GroupBox]
    package var link: WrappedLink?
    package var oneTimeLinks: [OneTimeLink] = []
    /// Keys of records that are wrapped for the group.
    package var records: [KeysResponse.Record]
    /// The `attention` that is settled herewith.
    package var settled: Int64?

    package init(
        zoneID: ZoneIDDictionary?, group: String = "", key: WrappedGroupKey? = nil, boxes: [GroupBox] = [],
        link: WrappedLink? = nil, records: [KeysResponse.Record] = [], settled: Int64? = nil
    ) {
        self.zoneID = zoneID
        self.group = group
        self.key = key
        self.boxes = boxes
        self.link = link
        self.records = records
        self.settled = settled
    }

    package var isEmpty: Bool {
        key == nil && boxes.isEmpty && link == nil && oneTimeLinks.isEmpty && records.isEmpty && settled == nil
    }
}
