/// The key that seals encrypted values of a record, wrapped under the key of a group (Documentation/Encryption.md).
package struct WrappedRecordKey: Hashable, Sendable {
    /// The size of a record key's ID in bytes. Sealed values carry this ID.
    package static let idSize = 8

    package var id: [UInt8]
    /// The group whose key wraps the record key: the name of a share; empty for the zone's group.
    package var group: String
    /// The version of the group's key.
    package var version: Int64
    package var wrapped: [UInt8]
    /// Whether the key was wrapped for the group because the record moved there, not created for the group. If so, the
    /// key opens values, but seals no new ones.
    package var isInherited: Bool
    /// Whether the service reports that the key was wrapped for recipients outside the group. If so, the key seals
    /// no new values.
    package var isSpent = false
    /// The ID (`GroupKeyID`) of the group's key that wraps the record key, by which a key of a former zone with the
    /// same name is refused. Empty in storage, or if unspecified.
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
    /// The version's number: 1, 2, 3, ….
    package var version: Int64
    /// The public half of the account key of the recipient, for whom `box` is sealed.
    package var recipient: [UInt8]
    /// The group's key, in a sealed box.
    package var box: [UInt8]
    /// The group's key of the previous version, sealed under this version's key; empty in the first version.
    package var previous: [UInt8]
    /// The public key of the device that created this version.
    package var signer: [UInt8]
    package var signature: [UInt8]
    /// The share's administrators, as hashes of the first entries of their device lists. The devices of the owner and
    /// of these administrators are allowed to create later versions. Only the owner's devices set this list.
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

/// The request of two additions of ours: `keys/account` reads the account's devices and wrapped keys, `keys/reset` deletes
/// the device list, all keys, and the custom zones that have keys. Unlike `EmptyRequest` it refuses a body that is not JSON.
package struct EmptyKeysRequest: Hashable, Sendable {
    package init() {}
}

/// The request of `keys/enroll`, our addition: appends an entry to the list of the account's devices.
package struct EnrollRequest: Hashable, Sendable {
    /// The number of entries in the list before the new entry.
    package var position: Int64
    package var entry: [UInt8]
    /// The account's keys in sealed boxes, each for one device.
    package var boxes: [AccountKeyBox]
    /// The account's secrets, if the service keeps them for the account's devices (key escrow); otherwise nil.
    package var escrow: [UInt8]?
    /// Without an entry, the request of a device that is not on the list. With an entry, the reply to such a request.
    /// Nil if there is neither.
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

    /// The message's ID, derived from the shared secret.
    package var id: [UInt8]
    /// The request of the device that asks for approval; empty for a recovery key.
    package var request: [UInt8]
    /// The reply of a device on the list; empty until a device replies.
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
    /// Whether the service keeps the secrets of accounts for their devices (key escrow; `nephos dev`).
    package var escrows: Bool
    package var escrow: [UInt8]?
    /// The entries of the device list, from the first.
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

/// The key material of a share's URL fragment, as far as the service is allowed to know it.
package struct WrappedLink: Hashable, Sendable {
    /// The version of the group's key that `key` contains.
    package var version: Int64
    /// The group's key, sealed under the link's secret, for clients that have the URL. Empty if the URL must not give
    /// access to the key.
    package var key: [UInt8]
    /// The link's secret, sealed under the group's key, for participants.
    package var secret: [UInt8]

    package init(version: Int64, key: [UInt8], secret: [UInt8]) {
        self.version = version
        self.key = key
        self.secret = secret
    }
}

/// The key material of a one-time URL's fragment, as far as the service is allowed to know it.
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

/// The request of `keys/lookup`, our addition: requests a group's keys, and the keys of some of the zone's records.
package struct LookupKeysRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    /// The name of the share that is the group; empty for the zone's group.
    package var group: String
    package var wantsGroup: Bool
    /// Whether the owner requests the members for whom the owner's device has to wrap the key.
    package var wantsMembers: Bool
    /// The names of root records. The answer has the keys of their hierarchies that are not wrapped for the group.
    package var missingBelow: [String]
    /// Whether the owner requests the records that left a share and whose keys only that share's key wraps.
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
        /// The member's user record name; empty until the account is known.
        package var userRecordName: String
        /// The device list of the member's account.
        package var entries: [[UInt8]]
        /// The account key for which the group key's last version is wrapped; empty if
        /// that version is not wrapped for the member.
        package var recipient: [UInt8]
        /// Whether the member is allowed to pass on the share's keys.
        package var isAdministrator: Bool
        /// The participant ID, if a one-time URL invites the member; otherwise nil.
        package var oneTimeID: String?
        /// The participant ID. The next property is whether the member joined by the share's public URL.
        package var participantID: String
        package var joinedByURL: Bool

        package init(
            userRecordName: String, entries: [[UInt8]], recipient: [UInt8], isAdministrator: Bool = false,
            oneTimeID: String? = nil, participantID: String = "", joinedByURL: Bool = false
        ) {
            self.userRecordName = userRecordName
            self.entries = entries
            self.recipient = recipient
            self.isAdministrator = isAdministrator
            self.oneTimeID = oneTimeID
            self.participantID = participantID
            self.joinedByURL = joinedByURL
        }
    }

    /// The versions of the group's key, in ascending order.
    package var group: [WrappedGroupKey]
    /// The group's key, wrapped for the caller's account; empty if the caller is the owner.
    package var boxes: [WrappedGroupKey] = []
    package var link: WrappedLink?
    /// The links of unused one-time URLs. For a participant, the link by which it joined.
    package var oneTimeLinks: [OneTimeLink] = []
    /// The administrators who signed versions of the group's key, or boxes with it.
    package var signers: [GroupSigner] = []
    /// The owner's device list, for callers other than the owner.
    package var ownerEntries: [[UInt8]] = []
    package var members: [Member] = []
    /// Whether the zone's key itself seals the values of the zone's records.
    package var isPerZone = false
    /// Whether the group's zone or hierarchy is shared.
    package var isShared = false
    /// Whether accounts can join by the share's URL, but the URL's link lacks the group's key.
    package var wantsLink = false
    /// Whether a former participant has the last version of the group's key, so that a next version is needed (key
    /// rotation).
    package var isStale = false
    /// The number of the latest note that the library of the group's owner has to repair the group's keys; 0 if all
    /// notes are settled.
    package var attention: Int64 = 0
    /// Whether some records left a share, but only that share's key wraps their keys.
    package var hasLeft = false
    /// The last signed list of the share's participants (`ParticipantList`), for the owner and administrators; nil if
    /// there is none.
    package var participants: [UInt8]?
    /// The IDs of participants whom a caller without keys gave access, and whom no device has signed since. The empty ID
    /// stands for all accounts that have the share's URL.
    package var unsigned: [String] = []
    /// Whether every account that has the share's URL may join.
    package var isOpen = false
    package var records: [Record]
    /// Whether the keys of further records have to be wrapped.
    package var hasMore = false
}

extension KeysResponse {
    package init(group: [WrappedGroupKey] = [], records: [Record] = []) {
        self.init(group: group, boxes: [], records: records)
    }
}

/// A group's key for an account other than the owner's.
package struct GroupBox: Hashable, Sendable {
    /// The account's user record name; empty for the caller's account.
    package var userRecordName: String
    /// The group's key for this account, without the previous version's key.
    package var key: WrappedGroupKey

    package init(userRecordName: String = "", key: WrappedGroupKey) {
        self.userRecordName = userRecordName
        self.key = key
    }
}

/// The request of `keys/group`, our addition: stores the next version of a group's key, boxes with it for other
/// accounts, and record keys wrapped under it.
package struct PutGroupKeyRequest: Hashable, Sendable {
    package var zoneID: ZoneIDDictionary?
    package var group: String
    /// The next version of the group's key; nil if the request adds no version.
    package var key: WrappedGroupKey?
    /// The group's key in boxes for other accounts.
    package var boxes: [GroupBox]
    package var link: WrappedLink?
    package var oneTimeLinks: [OneTimeLink]
    /// Records with their keys, wrapped under the group's key.
    package var records: [KeysResponse.Record]
    /// The value of `attention` that this request settles, because its keys repair the group; nil if it settles none.
    package var settled: Int64?
    /// The next signed list of the share's participants (`ParticipantList`); nil if the request signs none.
    package var participants: [UInt8]?

    package init(
        zoneID: ZoneIDDictionary?, group: String = "", key: WrappedGroupKey? = nil, boxes: [GroupBox] = [],
        link: WrappedLink? = nil, oneTimeLinks: [OneTimeLink] = [], records: [KeysResponse.Record] = [],
        settled: Int64? = nil, participants: [UInt8]? = nil
    ) {
        self.zoneID = zoneID
        self.group = group
        self.key = key
        self.boxes = boxes
        self.link = link
        self.oneTimeLinks = oneTimeLinks
        self.records = records
        self.settled = settled
        self.participants = participants
    }

    package var isEmpty: Bool {
        key == nil && boxes.isEmpty && link == nil && oneTimeLinks.isEmpty && records.isEmpty && settled == nil
            && participants == nil
    }
}
