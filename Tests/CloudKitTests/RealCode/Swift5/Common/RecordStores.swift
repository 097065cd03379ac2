// swift-format-ignore-file: NeverForceUnwrap

import CloudKit

// How apps of the last years were seen to use databases: async functions, actors, operations behind continuations.

protocol RecordStore: Sendable {
    func record(for recordID: CKRecord.ID) async throws -> CKRecord
    func save(_ record: CKRecord) async throws -> CKRecord
    func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID
    func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> [CKRecord.ID: Result<CKRecord, Error>]
    func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, Error>], deleteResults: [CKRecord.ID: Result<Void, Error>]
    )
    func add(_ operation: CKDatabaseOperation)
    var databaseScope: CKDatabase.Scope { get }
}

extension CKDatabase: RecordStore {}

protocol AccountProvider {
    func accountStatus() async throws -> CKAccountStatus
    func userRecordID() async throws -> CKRecord.ID
    var containerIdentifier: String? { get }
    func database(with databaseScope: CKDatabase.Scope) -> CKDatabase
}

extension CKContainer: AccountProvider {}

/// Reads through a cache.
actor CachedStore {
    private let store: any RecordStore
    private var cache: [CKRecord.ID: CKRecord] = [:]
    private(set) var misses = 0

    init(_ store: any RecordStore) { self.store = store }

    func record(_ id: CKRecord.ID) async throws -> CKRecord {
        if let record = cache[id] { return record }
        misses += 1
        let record = try await store.record(for: id)
        cache[id] = record
        return record
    }
}

/// What a screen shows.
@MainActor final class NotesModel {
    private(set) var titles: [String] = []
    private let database: CKDatabase
    private let zone: CKRecordZone

    init(container: CKContainer = .default(), zoneName: String = "Notes") {
        database = container.privateCloudDatabase
        zone = CKRecordZone(zoneName: zoneName)
    }

    func prepare() async throws {
        do {
            _ = try await database.recordZone(for: zone.zoneID)
        } catch let error as CKError where error.code == .zoneNotFound {
            try await database.save(zone)
        }
    }

    @discardableResult
    func add(_ title: String) async throws -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        record[NoteKey.title] = title
        let saved = try await database.save(record)
        titles.append(saved["title"] as? String ?? "")
        return saved
    }

    func reload(_ ids: [CKRecord.ID]) async throws {
        let results = try await database.records(for: ids)
        titles = ids.compactMap { try? results[$0]?.get() }.compactMap { $0["title"] as? String }
    }

    func rename(_ id: CKRecord.ID, to title: String) async throws {
        for _ in 0..<3 {
            do {
                let record = try await database.record(for: id)
                record["title"] = title
                try await database.save(record)
                return
            } catch CKError.serverRecordChanged {
                continue
            }
        }
    }
}

enum Continuations {
    static func save(_ records: [CKRecord], to database: CKDatabase) async throws -> [CKRecord] {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<[CKRecord], Error>) in
            var saved: [CKRecord] = []
            var firstError: Error?
            let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
            operation.savePolicy = .ifServerRecordUnchanged
            operation.isAtomic = true
            operation.qualityOfService = .userInitiated
            operation.perRecordSaveBlock = { _, result in
                switch result {
                case .success(let record): saved.append(record)
                case .failure(let error): firstError = firstError ?? error
                }
            }
            operation.modifyRecordsResultBlock = { result in
                switch result {
                case .success:
                    if let firstError {
                        continuation.resume(throwing: firstError)
                    } else {
                        continuation.resume(returning: saved)
                    }
                case .failure(let error): continuation.resume(throwing: error)
                }
            }
            database.add(operation)
        }
    }

    static func fetch(_ id: CKRecord.ID, from database: CKDatabase) async throws -> CKRecord {
        try await withCheckedThrowingContinuation { continuation in
            database.fetch(withRecordID: id) { record, error in
                if let error {
                    continuation.resume(throwing: error)
                } else if let record {
                    continuation.resume(returning: record)
                } else {
                    continuation.resume(throwing: CKError(.internalError))
                }
            }
        }
    }

    static func delete(_ ids: [CKRecord.ID], from database: CKDatabase) async throws -> [CKRecord.ID] {
        let deleted: [CKRecord.ID] = try await withCheckedThrowingContinuation { continuation in
            database.modifyRecords(saving: [], deleting: ids) { result in
                switch result {
                case .success(let (_, deleteResults)):
                    continuation.resume(returning: deleteResults.compactMap { (try? $1.get()) == nil ? nil : $0 })
                case .failure(let error): continuation.resume(throwing: error)
                }
            }
        }
        return deleted
    }

    static func inParallel(_ ids: [CKRecord.ID], from database: CKDatabase) async throws -> [CKRecord.ID: CKRecord] {
        try await withThrowingTaskGroup(of: CKRecord.self) { group in
            for id in ids { group.addTask { try await database.record(for: id) } }
            var records: [CKRecord.ID: CKRecord] = [:]
            for try await record in group { records[record.recordID] = record }
            return records
        }
    }

    /// Records as a sequence, a page at a time.
    static func stream(_ ids: [CKRecord.ID], from database: CKDatabase, page: Int) -> AsyncThrowingStream<
        CKRecord, Error
    > {
        AsyncThrowingStream { continuation in
            Task {
                do {
                    for start in stride(from: 0, to: ids.count, by: page) {
                        let part = Array(ids[start..<min(start + page, ids.count)])
                        let results = try await database.records(for: part)
                        for id in part { continuation.yield(try results[id]!.get()) }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }
}
