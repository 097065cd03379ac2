public import Foundation

extension CKContainer {
    // MARK: Participants

    /// Creates participants from e-mail addresses, with one result for each address.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        runFetchParticipants(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)) { results in
            completionHandler(results.map { $0.keyed { $0.emailAddress } })
        }
    }

    /// Creates participants from e-mail addresses, with one result for each address.
    public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await shareParticipants(for: CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails))
            .keyed { $0.emailAddress }
    }

    /// Creates participants from phone numbers, with one result for each number.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        runFetchParticipants(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)) { results in
            completionHandler(results.map { $0.keyed { $0.phoneNumber } })
        }
    }

    /// Creates participants from phone numbers, with one result for each number.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await shareParticipants(for: CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers))
            .keyed { $0.phoneNumber }
    }

    /// Creates participants from the record IDs of the container's users, with one result for each ID.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        runFetchParticipants(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)) { results in
            completionHandler(results.map { $0.keyed { $0.userRecordID } })
        }
    }

    /// Creates participants from the record IDs of the container's users, with one result for each ID.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await shareParticipants(for: CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs))
            .keyed { $0.userRecordID }
    }

    /// Creates participants from lookup infos, with one result for each lookup info.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await resultOfOperation { runFetchParticipants(lookupInfos, $0) }
    }

    func participant(_ info: CKUserIdentity.LookupInfo) async throws -> CKShare.Participant {
        try await shareParticipants(for: [info]).item(info)
    }

    func fetchParticipant(
        _ info: CKUserIdentity.LookupInfo, _ handler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        runFetchParticipants([info]) { hand($0.item(info), to: handler) }
    }

    // MARK: Metadata and acceptance

    func fetchMetadata(_ url: URL, _ handler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void) {
        runFetchMetadata([url]) { hand($0.item(url), to: handler) }
    }

    /// Fetches the metadata of shares by URL, with one result for each URL.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        runFetchMetadata(urls, completionHandler)
    }

    /// Fetches the metadata of shares by URL, with one result for each URL.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await resultOfOperation { runFetchMetadata(urls, $0) }
    }

    func acceptShare(_ metadata: CKShare.Metadata, _ handler: @escaping @Sendable (CKShare?, (any Error)?) -> Void) {
        runAccept([metadata]) { hand($0.item(metadata), to: handler) }
    }

    /// Accepts shares, with one result for each share.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
    ) {
        runAccept(metadatas, completionHandler)
    }

    /// Accepts shares, with one result for each share.
    @discardableResult
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await resultOfOperation { runAccept(metadatas, $0) }
    }

    // MARK: Requests for access

    /// Requests access to shares from their owners, with one result for each URL (requestShareAccess(for:), Apple's
    /// documentation). Throws a `CKError` that concerns all URLs.
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try await resultOfOperation { runRequestAccess(urls, $0) }
    }

    // MARK: Underlying operations

    private typealias Completion<Key: Hashable, Value> =
        @Sendable (Result<[Key: Result<Value, any Error>], any Error>) -> Void

    @discardableResult
    private func runFetchParticipants(
        _ infos: [CKUserIdentity.LookupInfo],
        _ completion: @escaping Completion<CKUserIdentity.LookupInfo, CKShare.Participant>
    ) -> CKOperation {
        let results = Locked<[CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>]>([:])
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        operation.perShareParticipantResultBlock = { info, result in results.withLock { $0[info] = result } }
        operation.fetchShareParticipantsResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runFetchMetadata(
        _ urls: [URL], _ completion: @escaping Completion<URL, CKShare.Metadata>
    ) -> CKOperation {
        let results = Locked<[URL: Result<CKShare.Metadata, any Error>]>([:])
        let operation = CKFetchShareMetadataOperation(shareURLs: urls)
        operation.perShareMetadataResultBlock = { url, result in results.withLock { $0[url] = result } }
        operation.fetchShareMetadataResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runRequestAccess(_ urls: [URL], _ completion: @escaping Completion<URL, Void>) -> CKOperation {
        let results = Locked<[URL: Result<Void, any Error>]>([:])
        let operation = CKShareRequestAccessOperation(shareURLs: urls)
        operation.perShareAccessRequestResultBlock = { url, result in results.withLock { $0[url] = result } }
        operation.shareAccessRequestResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }

    @discardableResult
    private func runAccept(
        _ metadatas: [CKShare.Metadata], _ completion: @escaping Completion<CKShare.Metadata, CKShare>
    ) -> CKOperation {
        let results = Locked<[CKShare.Metadata: Result<CKShare, any Error>]>([:])
        let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
        operation.perShareResultBlock = { metadata, result in results.withLock { $0[metadata] = result } }
        operation.acceptSharesResultBlock = { outcome in
            completion(outcome.asideFromItems.map { results.withLock { $0 } })
        }
        run(operation)
        return operation
    }
}

extension Dictionary {
    /// Returns the values under new keys, which `key` derives from the old ones. A value for which `key` returns nil is
    /// dropped.
    fileprivate func keyed<NewKey: Hashable>(_ key: (Key) -> NewKey?) -> [NewKey: Value] {
        [NewKey: Value](
            compactMap { entry in key(entry.key).map { ($0, entry.value) } }, uniquingKeysWith: { first, _ in first })
    }
}
