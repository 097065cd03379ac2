import NephosCrypto
import NephosStorage
import NephosWire

extension StorageReader {
    /// - Throws: `notAuthenticated` if the session of a hash is over.
    func requireSession(_ hash: String) throws -> StoredSession {
        guard let session = try entry(StoredSession.self, hash) else { throw ServiceError.sessionIsOver }
        return session
    }
}

extension StorageTransaction {
    /// - Throws: `notAuthenticated` if the account's deletion has begun.
    func put(_ session: StoredSession, hash: String) throws {
        try requireNoDeletion(of: session.account)
        try put(session, hash, expiresAt: session.expiresAt)
        try put(AccountSession(), AccountSession.name(session.account, hash), expiresAt: session.expiresAt)
    }

    /// Ends a session of an account, those that it began, and so on.
    /// - Returns: the number of sessions that ended.
    @discardableResult
    func endSession(_ hash: String, of account: String) throws -> Int {
        let begun = try sessionHashes(of: account).filter {
            try entry(StoredSession.self, $0)?.ancestors?.contains(hash) == true
        }
        for hash in begun + [hash] { try removeSession(hash, of: account) }
        return begun.count + 1
    }

    /// Ends all sessions of an account.
    /// - Returns: the number of sessions that ended.
    @discardableResult
    func endSessions(of account: String) throws -> Int {
        let ended = try sessionHashes(of: account)
        for hash in ended { try removeSession(hash, of: account) }
        return ended.count
    }

    /// Ends the browser's session of a token, whosever it is, and those that it began. If the same account signs in once
    /// more, those go on with the new session.
    /// - Parameters:
    ///   - account: the account that signs in.
    ///   - successor: the hash of its new session in the browser.
    func endBrowserSession(_ token: String?, for account: String, replacedBy successor: String) throws {
        guard let hash = token.flatMap(SecretToken.init)?.hash, let session = try entry(StoredSession.self, hash),
            session.isOfBrowser == true
        else { return }
        guard session.account == account else {
            try endSession(hash, of: session.account)
            return
        }
        for other in try sessionHashes(of: account) {
            guard var begun = try entry(StoredSession.self, other),
                let index = begun.ancestors?.firstIndex(of: hash)
            else { continue }
            begun.ancestors?[index] = successor
            try put(begun, hash: other)
        }
        try removeSession(hash, of: account)
    }

    /// Evicts sessions of the new session's container and environment, or pages, down to `kept`, so that a token of one app
    /// ends no session in another. Evicts the sessions of the same sign-in first, and of those the first to expire. The
    /// sessions that an evicted one began stay, as the new session may be one of them.
    func endOldSessions(beside new: StoredSession, hash: String, keeping kept: Int) throws {
        let hashes = try sessionHashes(of: new.account)
        guard hashes.count > kept else { return }
        let others = try hashes.compactMap { other in try entry(StoredSession.self, other).map { (hash: other, $0) } }
            .filter { $0.hash != hash && $0.1.isInSamePlace(as: new) }
        let excess = others.count + 1 - kept
        guard excess > 0 else { return }
        let signIn = new.ancestors?.first ?? hash
        let inOrder = others.sorted { first, second in
            let (isFirst, isSecond) = (first.1.ancestors?.first == signIn, second.1.ancestors?.first == signIn)
            return isFirst == isSecond ? first.1.expiresAt < second.1.expiresAt : isFirst
        }
        for other in inOrder.prefix(excess) { try removeSession(other.hash, of: new.account) }
    }

    private func sessionHashes(of account: String) throws -> [String] {
        try entries(AccountSession.self, prefix: "\(account)/").map { String($0.name.dropFirst(account.count + 1)) }
    }

    private func removeSession(_ hash: String, of account: String) throws {
        try removeInstallationEntry(.session, hash)
        try removeInstallationEntry(.accountSession, AccountSession.name(account, hash))
    }
}
