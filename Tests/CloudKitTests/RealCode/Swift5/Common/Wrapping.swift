import CloudKit

// An app that hides the whole of CloudKit behind protocols of its own, which Apple's classes adopt as they are and its
// tests' mocks adopt too: containers made by a static function of the protocol, associated databases, the sync engine.

protocol WrappedContainer<Database>: AnyObject, Hashable, Sendable {
    associatedtype Database: WrappedDatabase

    static func make(identifier: String) -> Self
    var containerIdentifier: String? { get }
    var privateCloudDatabase: Database { get }
    var sharedCloudDatabase: Database { get }
    func accountStatus() async throws -> CKAccountStatus
    func userRecordID() async throws -> CKRecord.ID
    func accept(_ metadata: CKShare.Metadata) async throws -> CKShare
}

extension WrappedContainer {
    func database(holding recordID: CKRecord.ID) -> any WrappedDatabase {
        recordID.zoneID.ownerName == CKCurrentUserDefaultName ? privateCloudDatabase : sharedCloudDatabase
    }
}

extension CKContainer: WrappedContainer {
    static func make(identifier: String) -> Self { Self(identifier: identifier) }
}

protocol WrappedDatabase: AnyObject, Hashable, Sendable {
    var databaseScope: CKDatabase.Scope { get }
    func record(for recordID: CKRecord.ID) async throws -> CKRecord
    func records(for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?)
        async throws -> [CKRecord.ID: Result<CKRecord, any Error>]
    func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )
    func modifyRecordZones(saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID])
        async throws -> (
            saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
            deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
        )
}

extension CKDatabase: WrappedDatabase {}

extension WrappedDatabase {
    /// The one record, saved as an operation of `modifyRecords` with what callers leave out.
    func put(_ record: CKRecord) async throws -> CKRecord? {
        let (saved, _) = try await modifyRecords(
            saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
        return try saved[record.recordID]?.get()
    }
}

protocol WrappedEngine<Database>: AnyObject, Sendable {
    associatedtype Database: WrappedDatabase

    var database: Database { get }
    var pendingSaves: [CKSyncEngine.PendingRecordZoneChange] { get }
    func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions) async throws
    func sendChanges(_ options: CKSyncEngine.SendChangesOptions) async throws
    func cancelOperations() async
    func batch(
        of changes: [CKSyncEngine.PendingRecordZoneChange],
        recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
    ) async -> CKSyncEngine.RecordZoneChangeBatch?
}

extension CKSyncEngine: WrappedEngine {
    var pendingSaves: [PendingRecordZoneChange] { state.pendingRecordZoneChanges }

    func batch(
        of changes: [PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
    ) async -> RecordZoneChangeBatch? {
        await RecordZoneChangeBatch(pendingChanges: changes, recordProvider: recordProvider)
    }
}

/// A record's metadata and a mark of the app's under a key that only the app sees.
struct ArchivedRecord<Record: CKRecord> {
    let record: Record

    func data() -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.encode(record._mark, forKey: "_mark")
        return archiver.encodedData
    }

    init(_ record: Record) { self.record = record }

    init?(data: Data) throws {
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        guard let record = Record(coder: unarchiver) else { return nil }
        record._mark = unarchiver.decodeObject(of: NSString.self, forKey: "_mark") as? String
        self.record = record
    }
}

extension CKRecord {
    var _mark: String? {
        get { self[#function] }
        set { self[#function] = newValue }
    }
}

extension CKRecordKeyValueSetting {
    /// When the app last changed a field, which it keeps beside the field.
    subscript(changeOf key: String) -> Date {
        get { self["changed_\(key)"] as? Date ?? .distantPast }
        set { self["changed_\(key)"] = max(self[changeOf: key], newValue) }
    }
}

extension CKRecord {
    /// Takes a value that is newer than the field's, and says whether it did.
    @discardableResult
    func merge(_ value: some CKRecordValueProtocol & Equatable, forKey key: FieldKey, changedAt date: Date) -> Bool {
        guard encryptedValues[changeOf: key] < date, encryptedValues[key] != value else { return false }
        encryptedValues[key] = value
        encryptedValues[changeOf: key] = date
        return true
    }

    /// Takes whatever is newer in another record.
    func merge(_ other: CKRecord, keys: [FieldKey]) -> [FieldKey] {
        typealias Value = CKRecordValueProtocol & Equatable
        return keys.filter { key in
            guard let value = other.encryptedValues[key] as? any Value else { return false }
            return merge(value, forKey: key, changedAt: other.encryptedValues[changeOf: key])
        }
    }
}
