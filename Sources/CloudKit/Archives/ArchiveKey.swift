import Foundation

/// The keys of the archives that Apple's CloudKit writes.
enum ArchiveKey {
    static let recordName = "RecordName"
    static let recordID = "RecordID"
    static let zoneID = "ZoneID"
    static let zoneName = "ZoneName"
    static let ownerName = "ownerName"
    static let referenceAction = "ReferenceAction"

    static let recordType = "RecordType"
    static let changeTag = "ETag"
    static let creationDate = "RecordCtime"
    static let modificationDate = "RecordMtime"
    static let creatorUserRecordID = "CreatorUserRecordID"
    static let lastModifiedUserRecordID = "LastModifiedUserRecordID"
    static let modifiedByDevice = "ModifiedByDevice"
    static let parentReference = "ParentReference"
    static let previousParentReference = "PreviousParentReference"
    static let hasUpdatedParentReference = "HasUpdatedParentReference"
    static let shareReference = "ShareReference"
    static let knownToServer = "KnownToServer"

    static let valueStore = "ValueStore"
    static let encryptedValueStore = "EncryptedValueStore"
    static let recordValues = "RecordValues"
    static let originalValues = "OriginalValues"
    static let changedKeys = "ChangedKeys"

    static let allowedPermissions = "AllowedParticipantPermissionOptions"
    static let allowedAccess = "AllowedParticipantAccessOptions"
    static let allowsInviting = "AllowsParticipantsToInviteOthers"
    static let assetFileURL = "AssetFileURL"
    static let assetSize = "AssetSize"
    static let assetHasSize = "AssetHasSize"
    static let assetSignature = "AssetSignature"
    static let assetReferenceSignature = "ReferenceSignature"
    static let assetWrappedKey = "WrappedAssetKey"
    static let assetUploadReceipt = "AssetUploadReceipt"
    static let assetDownloadURL = "AssetDownloadURL"

    static let shareURL = "URL"
    static let publicPermission = "PublicPermission"
    static let participants = "Participants"
    static let rootRecordID = "RootRecordID"
    /// A key that is not known to occur in Apple's archives.
    static let allowsAccessRequests = "AllowsAccessRequests"
    /// Keys of our own, for members of a share and a participant that no known key of Apple's archives has.
    static let requesters = "NephosRequesters"
    static let blockedIdentities = "NephosBlockedIdentities"
    static let hasChangedRequests = "NephosHasChangedRequests"
    static let oneTimeURLIDs = "NephosOneTimeURLIDs"
    static let oneTimeURLs = "NephosOneTimeURLs"
    static let isApprovedRequester = "NephosIsApprovedRequester"
    static let dateAddedToShare = "NephosDateAddedToShare"

    static let containerID = "ContainerID"
    static let containerIdentifier = "ContainerIdentifier"
    static let containerEnvironment = "Environment"
    static let share = "Share"
    static let rootRecord = "RootRecord"
    static let ownerIdentity = "OwnerIdentity"
    /// A key of our own, not of Apple's archives: the last component of a one-time URL, without which the share cannot
    /// be accepted.
    static let oneTimeGUID = "NephosOneTimeGUID"
    static let metadataRole = "ParticipantType"
    static let metadataStatus = "ParticipantStatus"
    static let metadataPermission = "ParticipantPermission"

    static let participantID = "ParticipantID"
    static let participantIdentity = "UserIdentity"
    static let participantRole = "Type"
    static let participantPermission = "Permission"
    static let participantAcceptanceStatus = "AcceptanceStatus"
    static let hasOneTimeURL = "isAnonymousInvitedParticipant"

    static let userRecordID = "UserRecordID"
    static let lookupInfo = "LookupInfo"
    static let nameComponents = "NameComponents"
    static let hasAccount = "HasICloudAccount"
    static let emailAddress = "EmailAddress"
    static let phoneNumber = "PhoneNumber"

    static let capabilities = "Capabilities"
    static let encryptionScope = "EncryptionScope"

    static let changeTokenData = "ChangeTokenData"

    static let subscriptionID = "SubscriptionID"
    static let subscriptionType = "SubscriptionType"
    static let subscriptionOptions = "SubscriptionOptions"
    static let notificationInfo = "NotificationInfo"
    static let query = "Query"
    static let notificationID = "NotificationUUID"
}

/// Decoding that returns nil for a missing key: archives contain only some of the keys, and Foundation's decoder fails
/// for a missing one.
extension NSCoder {
    func object<Object: NSObject & NSCoding>(of type: Object.Type, forKey key: String) -> Object? {
        holds(key) ? decodeObject(of: type, forKey: key) : nil
    }

    func object(ofAny types: [AnyClass], forKey key: String) -> Any? {
        holds(key) ? decodeObject(of: types, forKey: key) : nil
    }

    func value<Value: RawRepresentable<Int>>(forKey key: String) -> Value? {
        holds(key) ? Value(rawValue: decodeInteger(forKey: key)) : nil
    }

    func bool(forKey key: String) -> Bool { holds(key) && decodeBool(forKey: key) }

    /// Returns whether the coder has a value for the key. False for an archiver, which has no values: apps' tests call
    /// `init(coder:)` with one.
    private func holds(_ key: String) -> Bool { !(self is NSKeyedArchiver) && containsValue(forKey: key) }

    func string(forKey key: String) -> String? {
        object(of: NSString.self, forKey: key).map { $0 as String }
    }

    func date(forKey key: String) -> Date? {
        object(of: NSDate.self, forKey: key).map { $0 as Date }
    }
}
