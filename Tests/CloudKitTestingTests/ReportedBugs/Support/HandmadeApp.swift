import CloudKit

/// An app that syncs with `CKDatabase`, without an engine. Subclasses override what they do wrong.
class HandmadeApp: ReportedApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    var isAtomic: Bool { false }

    override func sync() async throws {
        try await checkAccount()
        try await fetch()
        try await send()
    }

    /// Forgets another account's items.
    func checkAccount() async throws {
        let user = try await container.userRecordID().recordName
        if user == disk.account { return }
        try update { disk in
            if disk.account != nil { disk = Disk() }
            disk.account = user
        }
    }

    // MARK: Fetching

    func fetch() async throws {
        do {
            if disk.token == nil { try update { $0.beginRefetch() } }
            while try await fetchPage() {}
        } catch let error as CKError {
            switch error.code {
            case .changeTokenExpired: try await fetchAfterExpiry(error)
            case .zoneNotFound, .userDeletedZone:
                // A zone that never was has no items.
                if disk.hasZone { try zoneIsGone() }
            default: throw error
            }
        }
    }

    func fetchAfterExpiry(_ error: CKError) async throws {
        guard disk.token != nil else { throw error }
        try update { $0.token = nil }
        try await fetch()
    }

    func zoneIsGone() throws { try update { $0.forgetItems() } }

    /// Returns whether more is coming.
    private func fetchPage() async throws -> Bool {
        let changes = try await database.recordZoneChanges(inZoneWith: disk.zoneID, since: disk.serverToken)
        try update { disk in
            for case .success(let modification) in changes.modificationResultsByID.values {
                merge(modification.record, &disk)
            }
            for deletion in changes.deletions { disk.didDelete(deletion.recordID.recordName) }
            disk.token = Disk.encoded(changes.changeToken.encode)
            disk.hasZone = true
            if !changes.moreComing { disk.finishRefetch() }
        }
        return changes.moreComing
    }

    func merge(_ record: CKRecord, _ disk: inout Disk) { disk.merge(record) }

    // MARK: Sending

    func send() async throws {
        if disk.pending.isEmpty { return }
        if !disk.hasZone {
            try await database.save(CKRecordZone(zoneID: disk.zoneID))
            try update { $0.hasZone = true }
        }
        var (limit, left, problem) = (400, Set(disk.pending), CKError?.none)
        for _ in 0..<Self.rounds where !left.isEmpty {
            let names = left.sorted().prefix(limit)
            do {
                let errors = try await send(Array(names))
                left.subtract(names)
                // Conflicts are resolved by now.
                left.formUnion(
                    errors.filter { [.serverRecordChanged, .batchRequestFailed].contains($0.value.code) }.keys)
                left.formIntersection(disk.pending)
                problem = errors.values.first ?? problem
            } catch let error as CKError where error.code == .limitExceeded && names.count > 1 {
                limit = names.count / 2
            }
        }
        if !disk.pending.isEmpty, let problem { throw problem }
    }

    private static let rounds = 40

    /// Sends items in one request.
    /// - Returns: the errors of those that failed.
    func send(_ names: [String]) async throws -> [String: CKError] {
        let disk = disk
        let records = names.compactMap { record(for: $0, disk) }
        let gone = names.filter { disk.items[$0]?.text == nil }.map(disk.recordID)
        let (saves, deletes) = try await database.modifyRecords(
            saving: records, deleting: gone, savePolicy: .ifServerRecordUnchanged, atomically: isAtomic)
        return try update { disk in
            var errors: [String: CKError] = [:]
            for (recordID, result) in saves {
                switch result {
                case .success(let record): didSave(record, &disk)
                case .failure(let error): errors[recordID.recordName] = error as? CKError
                }
            }
            for (recordID, result) in deletes {
                switch result {
                case .success: disk.didDelete(recordID.recordName)
                case .failure(let error): errors[recordID.recordName] = error as? CKError
                }
            }
            for (name, error) in errors { settle(name, error, &disk) }
            return errors
        }
    }

    func record(for name: String, _ disk: Disk) -> CKRecord? { disk.record(for: name) }

    func didSave(_ record: CKRecord, _ disk: inout Disk) { disk.didSave(record) }

    func settle(_ name: String, _ error: CKError, _ disk: inout Disk) {
        switch error.code {
        case .serverRecordChanged: if let record = error.serverRecord { disk.merge(record) }
        case .unknownItem: disk.didDelete(name)
        default: break  // stays pending
        }
    }
}
