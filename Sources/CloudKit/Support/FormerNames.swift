// swift-format-ignore-file: AlwaysUseLowerCamelCase

// The names in CloudKit's Swift API before the API nested them. Documentation and older code still use them.

@available(*, deprecated, renamed: "CKRecord.ID")
public typealias CKRecordID = CKRecord.ID
@available(*, deprecated, renamed: "CKRecord.Reference")
public typealias CKReference = CKRecord.Reference
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKReferenceAction = CKRecord.ReferenceAction
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
@available(*, deprecated, renamed: "CKRecord.RecordType")
public typealias CKRecordType = CKRecord.RecordType
@available(*, deprecated, renamed: "CKRecord.FieldKey")
public typealias CKRecordFieldKey = CKRecord.FieldKey
@available(*, deprecated, renamed: "CKRecordZone.ID")
public typealias CKRecordZoneID = CKRecordZone.ID
@available(*, deprecated, renamed: "CKRecordZone.Capabilities")
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
@available(*, deprecated, renamed: "CKRecordZone.EncryptionScope")
public typealias CKRecordZoneEncryptionScope = CKRecordZone.EncryptionScope

@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = CKCurrentUserDefaultName
@available(*, deprecated, renamed: "CKRecordZone.ID.defaultZoneName")
public let CKRecordZoneDefaultName = CKRecordZone.ID.defaultZoneName
@available(*, deprecated, renamed: "CKRecord.SystemType.userRecord")
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
@available(*, deprecated, renamed: "CKRecord.SystemType.share")
public let CKRecordTypeShare = CKRecord.SystemType.share
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.parent")
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.share")
public let CKRecordShareKey = CKRecord.SystemFieldKey.share
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.title")
public let CKShareTitleKey = CKShare.SystemFieldKey.title
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.thumbnailImageData")
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.shareType")
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

extension CKRecord.Reference {
    @available(*, deprecated, renamed: "action")
    public var referenceAction: CKRecord.ReferenceAction { action }
}

extension CKShare {
    @available(*, deprecated, renamed: "init(rootRecord:shareID:)")
    public convenience init(rootRecord: CKRecord, share shareID: CKRecord.ID) {
        self.init(rootRecord: rootRecord, shareID: shareID)
    }
}

@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneConfiguration")
public typealias CKFetchRecordZoneChangesConfiguration = CKFetchRecordZoneChangesOperation.ZoneConfiguration
@available(*, deprecated, renamed: "CKShare.AccessRequester")
public typealias CKShareAccessRequester = CKShare.AccessRequester
@available(*, deprecated, renamed: "CKShare.BlockedIdentity")
public typealias CKShareBlockedIdentity = CKShare.BlockedIdentity
