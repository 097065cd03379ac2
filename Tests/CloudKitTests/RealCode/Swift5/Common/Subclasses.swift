import CloudKit

// What apps' tests put in the place of CloudKit's objects: subclasses that override what the app calls.

/// A database that keeps what it is given and answers from memory. Of each pair of methods one form is overridden.
final class ShelfDatabase: CKDatabase, @unchecked Sendable {
    var shelf: [CKRecord.ID: CKRecord] = [:]
    var operations: [CKDatabaseOperation] = []
    var failure: CKError?

    override var databaseScope: CKDatabase.Scope { .public }

    override func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, Error?) -> Void) {
        if let failure { return completionHandler(nil, failure) }
        shelf[record.recordID] = record
        completionHandler(record, nil)
    }

    override func fetch(
        withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, Error?) -> Void
    ) {
        completionHandler(shelf[recordID], shelf[recordID] == nil ? CKError(.unknownItem) : nil)
    }

    override func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        shelf[recordID] = nil
        return recordID
    }

    override func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, Error?) -> Void) {
        completionHandler([.default()], nil)
    }

    override func save(_ zone: CKRecordZone) async throws -> CKRecordZone { zone }

    override func save(
        _ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, Error?) -> Void
    ) {
        completionHandler(subscription, nil)
    }

    override func add(_ operation: CKDatabaseOperation) {
        operations.append(operation)
        switch operation {
        case let modify as CKModifyRecordsOperation:
            for record in modify.recordsToSave ?? [] {
                shelf[record.recordID] = record
                modify.perRecordSaveBlock?(record.recordID, .success(record))
            }
            modify.modifyRecordsResultBlock?(.success(()))
        case let changes as CKFetchRecordZoneChangesOperation:
            for record in shelf.values { changes.recordWasChangedBlock?(record.recordID, .success(record)) }
            changes.fetchRecordZoneChangesResultBlock?(.success(()))
        default: break
        }
    }
}

/// A container whose initialiser calls none of its superclass: Apple's has one designated initialiser.
final class EmptyContainer: CKContainer, @unchecked Sendable {
    init(_: Bool = false) {}
}

/// A container over such a database, with an initialiser of its own.
final class ShelfContainer: CKContainer, @unchecked Sendable {
    let database: ShelfDatabase
    var status = CKAccountStatus.available

    init(database: ShelfDatabase = ShelfDatabase()) {
        self.database = database
        super.init()
    }

    override var privateCloudDatabase: CKDatabase { database }
    override func accountStatus() async throws -> CKAccountStatus { status }

    override func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, Error?) -> Void) {
        completionHandler(CKRecord.ID(recordName: "reader"), nil)
    }

    override func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, Error?) -> Void
    ) {
        completionHandler(nil, CKError(.alreadyShared))
    }
}

/// A container as an app's protocol sees it, made by the type.
protocol ContainerMaking: AnyObject {
    static func make(_ identifier: String) -> Self
}

extension CKContainer: ContainerMaking {
    static func make(_ identifier: String) -> Self { Self(identifier: identifier) }
}

/// A record whose server-side values are fields, so that they survive an archive.
public class BackdatedRecord: CKRecord, @unchecked Sendable {
    public override var creationDate: Date? { self["backdatedTo"] as? Date }
    public override class var supportsSecureCoding: Bool { true }
}

final class PinnedRecord: CKRecord, @unchecked Sendable {
    override var share: CKRecord.Reference? {
        CKRecord.Reference(recordID: CKRecord.ID(recordName: "pinned"), action: .none)
    }
    override var parent: CKRecord.Reference? {
        get { nil }
        set {}
    }
}

final class NamedToken: CKServerChangeToken, @unchecked Sendable {
    let name: String

    init?(name: String) {
        self.name = name
        super.init(coder: NSKeyedArchiver(requiringSecureCoding: true))
    }

    required init?(coder: NSCoder) {
        name = ""
        super.init(coder: coder)
    }

    static func blank() throws -> CKServerChangeToken? {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.finishEncoding()
        return CKServerChangeToken(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData))
    }
}

final class InvitationMetadata: CKShare.Metadata, @unchecked Sendable {
    override var hierarchicalRootRecordID: CKRecord.ID? { CKRecord.ID(recordName: "root") }
    override var participantStatus: CKShare.ParticipantAcceptanceStatus { .pending }

    /// Metadata read from an archive that has nothing but its class.
    static func blank() throws -> CKShare.Metadata? {
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        archiver.finishEncoding()
        return CKShare.Metadata(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData))
    }
}

final class PickyQuery: CKQuery, @unchecked Sendable {
    override var recordType: CKRecord.RecordType { "Picky" }
}

final class LooseAsset: CKAsset, @unchecked Sendable {
    override var fileURL: URL? { nil }
}

final class LentZone: CKRecordZone, @unchecked Sendable {
    override var capabilities: CKRecordZone.Capabilities { [.fetchChanges] }
}
