import CloudKit

/// The deprecated parts of the operations. They are used behind a protocol, so that their tests build without warnings.
protocol OlderAPI: Sendable {
    func setItemBlock(_ operation: CKModifyRecordsOperation, _ block: @escaping (CKRecord, (any Error)?) -> Void)
    func setCompletion(
        _ operation: CKModifyRecordsOperation,
        _ block: @escaping ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)
    func setItemBlock(
        _ operation: CKFetchRecordsOperation, _ block: @escaping (CKRecord?, CKRecord.ID?, (any Error)?) -> Void)
    func setCompletion(
        _ operation: CKFetchRecordsOperation, _ block: @escaping ([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)
    func setCompletion(
        _ operation: CKModifyRecordZonesOperation,
        _ block: @escaping ([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)
    func setCompletion(
        _ operation: CKFetchRecordZonesOperation,
        _ block: @escaping ([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)
    /// Sets the operation's own twins of its configuration, and gives back one of them.
    func configure(_ operation: CKOperation, _ container: CKContainer) -> TimeInterval
    /// The status, and the code a request fails with.
    func permissions(of container: CKContainer) async throws -> (status: Int, code: Int?)
    func setCompletion(_ operation: CKFetchShareMetadataOperation, _ block: @escaping ((any Error)?) -> Void)
    /// How many users are discovered, in each of the ways there were.
    func discoveries(in container: CKContainer) async throws -> [Int]
}

let olderAPI: any OlderAPI = OlderAPIUse()

private struct OlderAPIUse: OlderAPI {
    @available(*, deprecated)
    func setCompletion(_ operation: CKFetchShareMetadataOperation, _ block: @escaping ((any Error)?) -> Void) {
        operation.fetchShareMetadataCompletionBlock = block
    }

    @available(*, deprecated)
    func discoveries(in container: CKContainer) async throws -> [Int] {
        let me = try await container.userRecordID()
        let operation = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a@example.org"]))
        var found = 0
        operation.userIdentityDiscoveredBlock = { _, _ in found += 1 }
        try await withCheckedThrowingContinuation { continuation in
            operation.discoverUserIdentitiesResultBlock = { continuation.resume(with: $0) }
            container.add(operation)
        }
        return [
            found, try await container.userIdentity(forUserRecordID: me) == nil ? 0 : 1,
            try await container.userIdentities(forEmailAddresses: ["a@example.org"]).count,
            try await container.allUserIdentitiesFromContacts().count,
        ]
    }

    @available(*, deprecated)
    func setItemBlock(_ operation: CKModifyRecordsOperation, _ block: @escaping (CKRecord, (any Error)?) -> Void) {
        operation.perRecordCompletionBlock = block
    }

    @available(*, deprecated)
    func setCompletion(
        _ operation: CKModifyRecordsOperation,
        _ block: @escaping ([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void
    ) {
        operation.modifyRecordsCompletionBlock = block
    }

    @available(*, deprecated)
    func setItemBlock(
        _ operation: CKFetchRecordsOperation, _ block: @escaping (CKRecord?, CKRecord.ID?, (any Error)?) -> Void
    ) {
        operation.perRecordCompletionBlock = block
    }

    @available(*, deprecated)
    func setCompletion(
        _ operation: CKFetchRecordsOperation, _ block: @escaping ([CKRecord.ID: CKRecord]?, (any Error)?) -> Void
    ) {
        operation.fetchRecordsCompletionBlock = block
    }

    @available(*, deprecated)
    func setCompletion(
        _ operation: CKModifyRecordZonesOperation,
        _ block: @escaping ([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void
    ) {
        operation.modifyRecordZonesCompletionBlock = block
    }

    @available(*, deprecated)
    func setCompletion(
        _ operation: CKFetchRecordZonesOperation,
        _ block: @escaping ([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void
    ) {
        operation.fetchRecordZonesCompletionBlock = block
    }

    @available(*, deprecated)
    func configure(_ operation: CKOperation, _ container: CKContainer) -> TimeInterval {
        operation.container = container
        operation.allowsCellularAccess = false
        operation.isLongLived = true
        operation.timeoutIntervalForRequest = 3
        operation.timeoutIntervalForResource = 4
        return operation.timeoutIntervalForResource
    }

    @available(*, deprecated)
    func permissions(of container: CKContainer) async throws -> (status: Int, code: Int?) {
        let status = try await container.applicationPermissionStatus(for: .userDiscoverability)
        do {
            _ = try await container.requestApplicationPermission(.userDiscoverability)
            return (status.rawValue, nil)
        } catch let error as CKError {
            return (status.rawValue, error.code.rawValue)
        }
    }
}
