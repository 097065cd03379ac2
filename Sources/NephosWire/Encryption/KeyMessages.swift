/// The key that seals values of a record, wrapped under the key of a group (Documentation/Encryption.md).
package struct WrappedRecordKey: Hashable, Sendable {
    /// Bytes of a key's ID, which sealed values carry.
    package static let idSize = 8

    package var id: [UInt8]
    /// The group whose key wraps it: the name of a share; empty for the zone.
    package var group: String
    /// The group's version.
    package var version: Int64
    package var wrapped: [UInt8]
    /// Whether the key was wrapped for the group because the record moved there, not created for the group. Such a key
    /// opens values, but seals no new ones.
    package var isInherited: Bool
    /// Whether the key was wrapped for recipients outside the group, as the service reports. It seals no new values
    /// then.
    package var isSpent = false
    /// The key that wraps it (`GroupKeyID`): a key of a former zone with the same name is refused. Empty if
    /// unspecified, and in storage.
    package var groupKeyID: [UInt8] = []

    package init(id: [UInt8], group: String = "", version: Int64, wrapped: [UInt8], isInherited: Bool = false) {
        self.id = id
        self.group = group
        self.version = version
        self.wrapped = wrapped
        self.isInherited = isInherited
    }
}

/// One version of a group's key for one recipient, as the service stores it.
package struct WrappedGroupKey: Hashable, Sendable {
    /// 1, 2, 3, ….
    package var version: Int64
    /// The public half of the recipient's account key, for which it is sealed.
    package var recipient: [UInt8]
    /// The key, in a sealed box.
    package var box: [UInt8]
    /// The previous version's key, sealed under this one; empty in the first version.
    package var previous: [UInt8]
    /// The public key of the device that made it.
    package var signer: [UInt8]
    package var signature: [UInt8]
    /// The share's administrators, as hashes of the first entries of their device lists. Their devices may create later
    /// versions, as the owner's devices may. Only the owner's devices set this.
    package var administrators: [[UInt8]]

    package init(
        version: Int64, recipient: [UInt8], box: [UInt8], previous: [UInt8], signer: [UInt8], signature: [UInt8],
        administrators: [[UInt8]] = []
    ) {
        self.version = version
        self.recipient = recipient
        self.box = box
        self.previous = previous
        self.signer = signer
        self.signature = signature
        self.administrators = administrators
    }
}

/// Our addition, `keys/account`: the account's devices, and the data that opens its keys.
package struct AccountKeysRequest: Hashable, Sendable {
    package init() {}
}

/// Our addition, `keys/enroll`: appends to the list of the account's devices.
package struct EnrollRequest: Hashable, Sendable {
    /// The number of entries in the list before.
    package var position: Int64
    package var entry: [UInt8]
    /// Account keys in sealed boxes, each for a device.
    package var boxes: [AccountKeyBox]
    /// The secrets, if the service keeps them for the account's devices (key escrow).
    package var escrow: [UInt8]?
    /// Without an entry: the request of a device that is not on the list.
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

/// A message between two devices that share a secret. The user carries the secret from one to the other.
package struct DeviceMessage: Hashable, Sendable {
    package static let idSize = 16

    /// Derived from the secret.
    package var id: [UInt8]
    /// The request of the device that is to be approved; empty for a recovery key.
    package var request: [UInt8]
    /// The reply of a device on the list; empty until then.
    package var reply: [UInt8]

    package init(id: [UInt8], request: [UInt8] = [], reply: [UInt8] = []) {
        self.id = id
        self.request = request
        self.reply = reply
    }
}

/// An account key in a sealed box for one device.
package struct AccountKeyBox: Hashable, Sendable {
    /// The device's public key for sealed boxes.
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
    package var messages: [DeviceMessage]

    package init(
        escrows: Bool, escrow: [UInt8]? = nil, entries: [[UInt8]] = [], boxes: [AccountKeyBox] = [],
        messages: [DeviceMessage] = []
    ) {
        self.escrows = escrows
        self.escrow = escrow
        self.entries = entries
        self.boxes = boxes
        self.messages = messages
    }
}

/// The key material of a share's URL fragment, as far as the service may know it.
package struct WrappedLink: Hashable, Sendable {
    /// The version of the group's key.
    package var version: Int64
    /// The group's key, sealed under the link's secret: for clients with the URL. Empty if the URL must not give access
    /// to it.
    package var key: [UInt8]
    /// The link's secret, sealed under the group's key: for participants.
    package var secret: [UInt8]

    package init(version: Int64, key: [UInt8], secret: [UInt8]) {
        self.version = version
        self.key = key
        self.secret = secret
    }
}

/// Our addition, `keys/reset`: deletes the account's list of devices, all its keys, and its custom zones that have
/// keys.
package struct ResetKeysRequest: Hashable, Sendable {
    package init() {}
}

/// The key material of a one-time URL's fragment, as far as the service may know it.
package struct OneTimeLink: Hashable, Sendable {
    /// The participant whom the URL invites.
    package var participantID: String
    package var link: WrappedLink

    package init(participantID: String, link: WrappedLink) {
        self.participantID = participantID
        self.link = link
    }
}

/// The device list of an administrator at the time of signing a group's keys.
package struct GroupSigner: Hashable, Sendable {
    package var userRecordName: String
    package var entries: [[UInt8]]

    package init(userRecordName: String, entries: [[UInt8]]) {
        self.userRecordName = userRecordName
        self.entries = entries
    }
}

/// Our addition, `keys/lookup`: requests a group's keys, and the keys of some of the zone's records.
package struct LookupKeysRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    /// The name of the share that is the group; empty for the zone.
    package var group: String
    package var wantsGroup: Bool
    /// Whether the owner requests the members, for whom it has to wrap the key.
    package var wantsMembers: Bool
    /// Names of root records. The answer has the keys of their hierarchies that are not wrapped for the group.
    package var missingBelow: [String]
    /// Whether the owner requests the records that left a share, if only that share's key wraps their keys.
    package var wantsLeft: Bool
    package var recordNames: [String]

    package init(
        zoneID: ZoneIDDictionary?, group: String = "", wantsGroup: Bool, wantsMembers: Bool = false,
        missingBelow: [String] = [], wantsLeft: Bool = false, recordNames: [String] = []
    ) {
        self.zoneID = zoneID
        self.group = group
        self.wantsGroup = wantsGroup
        self.wantsMembers = wantsMembers
        self.missingBelow = missingBelow
        self.wantsLeft = wantsLeft
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

    /// A participant in the group's share or zone, joined or invited.
    package struct Member: Hashable, Sendable {
        /// Empty until the account is known.
        package var userRecordName: String
        /// Its device list.
        package var entries: [[UInt8]]
        /// The account key for which the last version is wrapped; empty if it is not.
        package var recipient: [UInt8]
        /// Whether it may pass on the share's keys.
        package var isAdministrator: Bool
        /// The participant's identifier, if a one-time URL invites it.
        package var oneTimeID: String?

        package init(
            userRecordName: String, entries: [[UInt8]], recipient: [UInt8], isAdministrator: Bool = false,
            oneTimeID: String? = nil
        ) {
            self.userRecordName = userRecordName
            self.entries = entries
            self.recipient = recipient
            self.isAdministrator = isAdministrator
            self.oneTimeID = oneTimeID
        }
    }

    /// Ordered by version.
    package var group: [WrappedGroupKey]
    /// The group's key for the caller's account, unless that is the owner's.
    package var boxes: [WrappedGroupKey] = []
    package var link: WrappedLink?
    /// The links of unused one-time URLs; for a participant the link it joined by.
    package var oneTimeLinks: [OneTimeLink] = []
    /// The administrators who signed versions of the key, or boxes.
    package var signers: [GroupSigner] = []
    /// The device list of the owner, for other accounts.
    package var ownerEntries: [[UInt8]] = []
    package var members: [Member] = []
    /// Whether the zone's key itself seals the values of its records.
    package var isPerZone = false
    /// Whether the group's zone or hierarchy is shared.
    package var isShared = false
    /// Whether accounts may join by the share's URL, and its link lacks the key.
    package var wantsLink = false
    /// Whether a former participant has the last version, so that a next one is needed (key rotation).
    package var isStale = false
    /// Counts the events in the group that its owner's library has to repair.
    package var attention: Int64 = 0
    /// Whether some records left a share and only that share's key wraps their keys.
    package var hasLeft = false
    package var records: [Record]
    /// Whether further records' keys have to be wrapped.
    package var hasMore = false
}

extension KeysResponse {
    package init(group: [WrappedGroupKey] = [], records: [Record] = []) {
        self.init(group: group, boxes: [], records: records)
    }
}

/// A group's key for an account other than the owner's.
package struct GroupBox: Hashable, Sendable {
    /// The account's user record name; empty for the caller's.
    package var userRecordName: String
    /// Without the previous version's key.
    package var key: WrappedGroupKey

    package init(userRecordName: String = "", key: WrappedGroupKey) {
        self.userRecordName = userRecordName
        self.key = key
    }
}

/// Our addition, `keys/group`: the next version of a group's key, its boxes for other accounts, and records' keys under
/// it.
package struct PutGroupKeyRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var group: String
    /// The next version.
    package var key: WrappedGroupKey?
    /// The group's key for other accounts.
    package var boxes: [GroupBox]
    package var link: WrappedLink?
    package var oneTimeLinks: [OneTimeLink]
    /// Keys of records, wrapped for the group.
    package var records: [KeysResponse.Record]
    /// The `attention` that this request settles.
    package var settled: Int64?

    package init(
        zoneID: ZoneIDDictionary?, group: String = "", key: WrappedGroupKey? = nil, boxes: [GroupBox] = [],
        link: WrappedLink? = nil, oneTimeLinks: [OneTimeLink] = [], records: [KeysResponse.Record] = [],
        settled: Int64? = nil
    ) {
        self.zoneID = zoneID
        self.group = group
        self.key = key
        self.boxes = boxes
        self.link = link
        self.oneTimeLinks = oneTimeLinks
        self.records = records
        self.settled = settled
    }

    package var isEmpty: Bool {
        key == nil && boxes.isEmpty && link == nil && oneTimeLinks.isEmpty && records.isEmpty && settled == nil
    }
}
