import CCloudKitArchives
import Foundation

/// A class of objects in keyed archives, and its name in archives. The name is that of the Objective-C class, so that
/// this library and Apple's framework can read each other's archives.
struct ArchivedClass: Sendable {
    /// The name of the class in archives.
    let name: String
    /// The class that an unarchiver instantiates for the name.
    let decodedClass: AnyClass
    /// The result of `classForKeyedArchiver` for objects of the class: see `CCloudKitArchives.h`.
    let archiverClass: AnyClass

    private init(_ name: String, _ decodedClass: AnyClass, superclass: ArchivedClass? = nil) {
        self.name = name
        self.decodedClass = decodedClass
        archiverClass = Self.makeArchiverClass(name: name, superclass: superclass?.archiverClass) ?? decodedClass
    }

    /// Returns the result of `classForKeyedArchiver` for an object. An app's subclass is archived as itself if
    /// Foundation resolves its name, and those of its superclasses, to these classes. Foundation resolves only classes
    /// that are neither nested nor private, and stops the program for others.
    func archiverClass(for object: AnyObject) -> AnyClass {
        let own: AnyClass = type(of: object)
        guard own != decodedClass else { return archiverClass }
        let inherited = sequence(first: own, next: _getSuperclass).prefix { $0 != NSObject.self }
        return inherited.allSatisfy(Self.isFoundByName) ? own : archiverClass
    }

    private static func isFoundByName(_ aClass: AnyClass) -> Bool {
        let name = String(reflecting: aClass)
        return name.split(separator: ".").count == 2 && !name.contains("(") && NSClassFromString(name) == aClass
    }

    static let recordID = ArchivedClass("CKRecordID", CKRecord.ID.self)
    static let reference = ArchivedClass("CKReference", CKRecord.Reference.self)
    static let record = ArchivedClass("CKRecord", CKRecord.self)
    static let share = ArchivedClass("CKShare", CKShare.self, superclass: record)
    static let shareMetadata = ArchivedClass("CKShareMetadata", CKShare.Metadata.self)
    static let participant = ArchivedClass("CKShareParticipant", CKShare.Participant.self)
    static let accessRequester = ArchivedClass("CKShareAccessRequester", CKShare.AccessRequester.self)
    static let blockedIdentity = ArchivedClass("CKShareBlockedIdentity", CKShare.BlockedIdentity.self)
    static let userIdentity = ArchivedClass("CKUserIdentity", CKUserIdentity.self)
    static let userIdentityLookupInfo = ArchivedClass("CKUserIdentityLookupInfo", CKUserIdentity.LookupInfo.self)
    /// The class for names of persons. It replaces a class of Foundation, and so is not in `all`: see
    /// `ArchivedPersonName`.
    static let personName = ArchivedClass("NSPersonNameComponents", ArchivedPersonName.self)
    static let personNameParts = ArchivedClass("_NSPersonNameComponentsData", ArchivedPersonName.self)
    static let zoneID = ArchivedClass("CKRecordZoneID", CKRecordZone.ID.self)
    static let zone = ArchivedClass("CKRecordZone", CKRecordZone.self)
    static let asset = ArchivedClass("CKAsset", CKAsset.self)
    static let allowedSharingOptions = ArchivedClass("CKAllowedSharingOptions", CKAllowedSharingOptions.self)
    static let containerID = ArchivedClass("CKContainerID", ArchivedContainerID.self)
    static let location = ArchivedClass("CLLocation", CLLocation.self)
    static let valueStore = ArchivedClass("CKRecordValueStore", RecordValueStore.self)
    static let encryptedValueStore = ArchivedClass(
        "CKEncryptedRecordValueStore", EncryptedRecordValueStore.self, superclass: valueStore)
    static let changeToken = ArchivedClass("CKServerChangeToken", CKServerChangeToken.self)
    static let zoneConfiguration = ArchivedClass(
        "CKFetchRecordZoneChangesConfiguration", CKFetchRecordZoneChangesOperation.ZoneConfiguration.self)
    static let zoneOptions = ArchivedClass(
        "CKFetchRecordZoneChangesOptions", (FormerClasses.self as any DeprecatedClasses.Type).zoneOptions,
        superclass: zoneConfiguration)
    static let encryptedData = ArchivedClass("CKEncryptedData", ArchivedEncryptedData.self)
    static let query = ArchivedClass("CKQuery", CKQuery.self)
    static let queryCursor = ArchivedClass("CKQueryCursor", CKQueryOperation.Cursor.self)
    static let subscription = ArchivedClass("CKSubscription", CKSubscription.self)
    static let querySubscription = ArchivedClass(
        "CKQuerySubscription", CKQuerySubscription.self, superclass: subscription)
    static let recordZoneSubscription = ArchivedClass(
        "CKRecordZoneSubscription", CKRecordZoneSubscription.self, superclass: subscription)
    static let databaseSubscription = ArchivedClass(
        "CKDatabaseSubscription", CKDatabaseSubscription.self, superclass: subscription)
    static let notificationInfo = ArchivedClass("CKNotificationInfo", CKSubscription.NotificationInfo.self)
    static let notificationID = ArchivedClass("CKNotificationID", CKNotification.ID.self)
    static let operationGroup = ArchivedClass("CKOperationGroup", CKOperationGroup.self)
    static let locationSortDescriptor = ArchivedClass("CKLocationSortDescriptor", CKLocationSortDescriptor.self)

    /// The classes that unarchivers find by name. A new class needs an entry here and its own `classForKeyedArchiver`.
    static var all: [ArchivedClass] {
        [
            recordID, reference, record, share, shareMetadata, participant, accessRequester, blockedIdentity,
            userIdentity, userIdentityLookupInfo, personNameParts, zoneID, zone, asset, location, valueStore,
            encryptedValueStore, encryptedData, changeToken, zoneConfiguration, zoneOptions, query, queryCursor,
            subscription,
            querySubscription, recordZoneSubscription, databaseSubscription, notificationInfo, notificationID,
            allowedSharingOptions, containerID, operationGroup, locationSortDescriptor,
        ]
    }

    /// The template of the classes that `makeArchiverClass` creates; it has no members.
    private final class Model: NSObject {}

    private static func makeArchiverClass(name: String, superclass: AnyClass?) -> AnyClass? {
        func metadata(_ aClass: AnyClass) -> UnsafeRawPointer { unsafeBitCast(aClass, to: UnsafeRawPointer.self) }
        guard
            let made = cloudkit_make_archived_class(
                metadata(Model.self), metadata(NSObject.self), "Model", metadata(superclass ?? NSObject.self), name)
        else { return nil }
        return unsafeBitCast(made, to: AnyClass.self)
    }
}

/// Registers the classes in `all`. The loader of the program or the library calls this function before any archive is
/// read.
@_cdecl("cloudkit_register_archived_classes")
func registerArchivedClasses() {
    for archived in ArchivedClass.all {
        NSKeyedUnarchiver.setClass(archived.decodedClass, forClassName: archived.name)
    }
}

/// Deprecated classes. Access through the protocol needs no deprecated context.
private protocol DeprecatedClasses {
    static var zoneOptions: NSObject.Type { get }
}

private enum FormerClasses: DeprecatedClasses {
    @available(*, deprecated)
    static var zoneOptions: NSObject.Type { CKFetchRecordZoneChangesOperation.ZoneOptions.self }
}
