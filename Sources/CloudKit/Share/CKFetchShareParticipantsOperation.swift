import NephosWire

/// Creates participants from users' addresses (CKFetchShareParticipantsOperation, Apple's documentation).
///
/// An e-mail address or a phone number results in a participant even if no account has it, because the account is known
/// once the share is accepted. A user record ID must belong to a user of the container.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var perParticipant: ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var fetched: ((CKShare.Participant) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    private struct Item: Sendable {
        var info: CKUserIdentity.LookupInfo
        var result: Result<CKShare.Participant, CKError>
    }

    private let infos = Locked<[CKUserIdentity.LookupInfo]?>(nil)
    private let blocks = Locked(Blocks())
    private let failures = Locked<[AnyHashable: any Error]>([:])

    public override init() { super.init() }

    /// Creates an operation that looks up these users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The lookup infos of the users; nil for none.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
        get { infos.withLock { $0 } }
        set { infos.exchange(newValue) }
    }

    /// Called once for every user, with the participant or the error.
    open var perShareParticipantResultBlock:
        (
            (_ lookupInfo: CKUserIdentity.LookupInfo, _ shareParticipantResult: Result<CKShare.Participant, any Error>)
                ->
                Void
        )?
    {
        get { blocks.perParticipant }
        set { blocks.perParticipant = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called for every participant, unless `perShareParticipantResultBlock` is set.
    @available(*, deprecated, message: "use perShareParticipantResultBlock")
    open var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { blocks.fetched }
        set { blocks.fetched = newValue }
    }

    /// Called once, at the end. If users failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use fetchShareParticipantsResultBlock")
    open var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let infos = (userIdentityLookupInfos ?? []).uniqued()
        guard !infos.isEmpty else { return }
        try await requireAccount()
        let users = try await usersByID(infos.compactMap(\.userRecordID))
        let errors = containerErrorContext
        let known = containerAccount.users
        let accounts = try await accounts(infos)
        let items = infos.map { info in
            Item(
                info: info,
                result: Result { () throws(CKError) in
                    try info.participant(
                        users, known: known, hasAccount: accounts[info]?.get() ?? false, errors)
                })
        }
        deliver(items) { self.hand(out: $0) }
    }

    /// Returns for each address whether it belongs to an account. The service reveals nothing else about the accounts.
    private func accounts(
        _ infos: [CKUserIdentity.LookupInfo]
    ) async throws(CKError) -> [CKUserIdentity.LookupInfo: Result<Bool, CKError>] {
        let addresses = infos.filter { $0.userRecordID == nil }
        guard !addresses.isEmpty else { return [:] }
        let request = UserLookupRequest(lookupInfos: addresses.map(\.wireValue))
        do throws(ServiceFailure) {
            let users = try await containerAccount.service.send(.lookUpParticipants, request, containerCall).users
            let results = users.map { user -> Result<Bool, CKError> in
                switch user {
                case .user(let user): .success(user.hasAccount == true)
                case .failure(let error): .failure(CKError(error, containerErrorContext))
                }
            }
            return Dictionary(zip(addresses, results)) { first, _ in first }
        } catch {
            throw CKError(error, containerErrorContext)
        }
    }

    /// Fetches user records by ID. Every account may read them in the public database.
    private func usersByID(_ ids: [CKRecord.ID]) async throws(CKError) -> [CKRecord.ID: Result<CKRecord, CKError>] {
        guard !ids.isEmpty else { return [:] }
        let session = containerAccount
        // The service knows the current user only by the name of the user record, not by `CKCurrentUserDefaultName`.
        let own = try await session.currentUser(ServiceCall(scope: .public), containerErrorContext)
        let context = DatabaseRequestContext(
            session: session, call: ServiceCall(scope: .public), errors: containerErrorContext)
        let asked = ids.map { id in
            CKRecord.ID(unchecked: id.recordName == CKCurrentUserDefaultName ? own : id.recordName)
        }
        let found = try await context.fetch(asked, desiredKeys: [])
        return Dictionary(zip(ids, found), uniquingKeysWith: { first, _ in first })
    }

    private func hand(out item: Item) {
        let blocks = blocks.withLock { $0 }
        if case .failure(let error) = item.result { failures.withLock { $0[item.info] = error } }
        if let block = blocks.perParticipant {
            block(item.info, item.result.mapError { $0 })
        } else if case .success(let participant) = item.result {
            blocks.fetched?(participant)
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let failures = failures.exchange([:])
        let error = failure ?? .partialFailure(ifAny: failures, containerErrorContext)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
        blocks.completion?(error)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}

extension CKUserIdentity.LookupInfo {
    /// Creates the participant for this lookup info. Throws `unknownItem` if no such user exists, and
    /// `invalidArguments` for a malformed address.
    fileprivate func participant(
        _ users: [CKRecord.ID: Result<CKRecord, CKError>], known: WireUsers, hasAccount: Bool, _ errors: ErrorContext
    ) throws(CKError) -> CKShare.Participant {
        if let userRecordID {
            let user = try users[userRecordID]?.get()
            guard let user, user.recordType == CKRecord.SystemType.userRecord else {
                throw CKError(.unknownItem, "There is no user with the ID \(userRecordID.recordName).", errors)
            }
            // The caller's own identity is that of a share's owner or current user, whichever of its names was given.
            return CKShare.Participant(
                CKUserIdentity(
                    userRecordID: known.id(userRecordID.recordName), lookupInfo: self, hasiCloudAccount: true))
        }
        let isAddress =
            emailAddress.map { email in
                let parts = email.split(separator: "@", omittingEmptySubsequences: false)
                return parts.count == 2 && !parts.contains { $0.isEmpty || $0.contains(where: \.isWhitespace) }
            } ?? (phoneNumber?.contains(where: \.isWholeNumber) == true)
        guard isAddress else {
            throw CKError(.invalidArguments, "\"\(subject)\" is no address of a user.", errors)
        }
        return CKShare.Participant(CKUserIdentity(lookupInfo: self, hasiCloudAccount: hasAccount))
    }
}
