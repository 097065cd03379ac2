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

    /// Evicts the sessions of an account that expire first, down to `kept` sessions. Those that an evicted one began
    /// stay, as the newest session may be one of them.
    func endOldSessions(of account: String, keeping kept: Int) throws {
        let hashes = try sessionHashes(of: account)
        guard hashes.count > kept else { return }
        let sessions = try hashes.compactMap { try installationEntry(.session, $0) }
        for entry in sessions.sorted(by: { $0.expiresAt > $1.expiresAt }).dropFirst(kept) {
            try removeSession(entry.name, of: account)
        }
    }

    private func sessionHashes(of account: String) throws -> [String] {
        try entries(AccountSession.self, prefix: "\(account)/").map { String($0.name.dropFirst(account.count + 1)) }
    }

    private func removeSession(_ hash: String, of account: String) throws {
        try removeInstallationEntry(.session, hash)
        try removeInstallationEntry(.accountSession, AccountSession.name(account, hash))
    }
}
