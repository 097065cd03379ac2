import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Sharing

    /// Resolves the short GUIDs of shares' URLs (CloudKit Web Services, records/resolve).
    package func resolveShares(
        _ request: ShortGUIDsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordInfosResponse {
        var response = try await resolveOwnShares(request, context)
        // "Metadata for any container may be fetched through any container." At a production server a credential is for the
        // containers that it names.
        if context.session != nil { return response }
        for (index, item) in request.shortGUIDs.enumerated() {
            guard case .failure(let error) = response.results[index],
                error.clientErrorCode == ResolveShare.unknown.clientCode.rawValue,
                let store = try await store(ofShare: item.value, context.requestID),
                store.container != context.container, store.environment == context.environment.rawValue
            else { continue }
            var other = context
            other.container = store.container
            response.results[index] = try await resolveOwnShares(ShortGUIDsRequest(shortGUIDs: [item]), other).results[
                0]
        }
        return response
    }

    private func resolveOwnShares(
        _ request: ShortGUIDsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordInfosResponse {
        try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            try Self.check(request)
            return try await self.infos(of: request.shortGUIDs, account, store, caller, context) { resolve, index in
                try resolve.find(request.shortGUIDs[index].value)
            }
        }
    }

    /// Returns the metadata of the shares that `find` finds, as far as a response can hold it.
    private func infos(
        of items: [ShortGUIDsRequest.Item], _ account: AccountRow, _ store: Store, _ caller: Caller,
        _ context: RequestContext, _ find: @escaping @Sendable (ResolveShare, Int) throws -> ResolveShare.Found
    ) async throws -> RecordInfosResponse {
        try await store.read(by: caller) { reader in
            let resolve = ResolveShare(
                caller: caller, account: account, container: context.container,
                containerEnvironment: context.environment, accounts: store.accounts, reader: reader)
            var room = Limits.lookupSize
            return RecordInfosResponse(
                results: try items.enumerated().map { index, item in
                    try Self.result(caller) { try resolve.info(try find(resolve, index), item, room: &room) }
                })
        }
    }

    /// Accepts shares for the caller (CloudKit Web Services, records/accept).
    package func acceptShares(
        _ request: ShortGUIDsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordInfosResponse {
        let accepted = try await visitShares(request, context) {
            visit, item -> Result<ResolveShare.Found, ServiceError> in
            do {
                return .success(try AcceptShare(visit: visit).accept(item.value))
            } catch let error as ServiceError {
                return .failure(error)
            }
        }
        // Read after the commit: the records of the shares may be large.
        return try await perform(context, reads: true) { store, caller in
            try await self.infos(of: request.shortGUIDs, try caller.requireAccount(), store, caller, context) {
                try accepted[$1].get()
            }
        }
    }

    /// Requests access to shares from their owners (`CKShareRequestAccessOperation`, Apple's documentation).
    package func requestShareAccess(
        _ request: ShortGUIDsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccessRequestsResponse {
        let failures = try await visitShares(request, context) { visit, item -> ErrorDictionary? in
            do {
                try RequestAccess(visit: visit).request(item.value)
                return nil
            } catch let error as ServiceError {
                return error.dictionary(requestID: visit.resolve.caller.requestID)
            }
        }
        return AccessRequestsResponse(failures: failures)
    }

    /// Runs `body` for each share that the request names, all in one transaction.
    private func visitShares<Answer: Sendable>(
        _ request: ShortGUIDsRequest, _ context: RequestContext,
        _ body: @escaping @Sendable (ShareVisit, ShortGUIDsRequest.Item) throws -> Answer
    ) async throws(ServiceError) -> [Answer] {
        try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            try Self.check(request)
            let environment = self.environment
            let (answers, leftEvents) = try await store.write(by: caller) { transaction in
                try store.watched.refresh(transaction)
                let visit = ShareVisit(
                    resolve: ResolveShare(
                        caller: caller, account: account, container: context.container,
                        containerEnvironment: context.environment, accounts: store.accounts, reader: transaction),
                    environment: environment,
                    indexes: IndexWriter(
                        definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts),
                    notifier: store.notifier, transaction: transaction)
                return (try request.shortGUIDs.map { try body(visit, $0) }, visit.leftEvents)
            }
            if leftEvents { store.fanOut.wake() }
            store.background.wake()
            return answers
        }
    }

    /// Reports whether addresses belong to accounts. The response reveals nothing else of the accounts, and the request
    /// is rate limited.
    package func lookUpParticipants(
        _ request: UserLookupRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ParticipantLookupResponse {
        try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            let infos = request.lookupInfos ?? []
            guard infos.count <= Limits.operationsPerRequest else {
                throw ServiceError.limitExceeded(
                    "number of users exceeds the limit of \(Limits.operationsPerRequest)")
            }
            guard store.lookups.take(infos.count, for: account.id, at: self.environment.now()) else {
                throw ServiceError.tooManyLookups
            }
            return try await store.read(by: caller) { reader in
                let users = try infos.map { info -> ParticipantLookupResult in
                    var identity = UserIdentityDictionary(lookupInfo: info)
                    if let name = info.userRecordName {
                        identity.hasAccount =
                            try reader.liveAccount(userRecordName: caller.currentUser.resolve(name)) != nil
                    } else if let address = InvitationAddress.canonical(info) {
                        identity.hasAccount = try reader.account(ofAddress: address) != nil
                    }
                    return .user(identity)
                }
                return ParticipantLookupResponse(users: users)
            }
        }
    }

    private static func check(_ request: ShortGUIDsRequest) throws(ServiceError) {
        if request.shortGUIDs.count > Limits.shortGUIDsPerRequest {
            throw .limitExceeded("number of shortGUIDs exceeds the limit of \(Limits.shortGUIDsPerRequest)")
        }
    }

    private static func result(
        _ caller: Caller, _ info: () throws -> RecordInfo
    ) throws -> RecordInfoResult {
        do {
            return .info(try info())
        } catch let error as ServiceError {
            return .failure(error.dictionary(requestID: caller.requestID))
        }
    }
}
