import NephosCrypto
import NephosStorage
import NephosThreads
import NephosWire

/// The passkeys of a browser's account, with what its page needs to add one.
package struct PasskeyState: Sendable {
    package var passkeys: [PasskeySummary]
    /// Whether the sign-in is recent enough for changes.
    package var isRecent: Bool
    /// What a new passkey is made with; nil if none can be added now.
    package var creation: PasskeyCreation?
}

/// What a browser needs to make a passkey. Bytes are in base64url.
package struct PasskeyCreation: Hashable, Sendable {
    package var challenge: String
    package var relyingParty: String
    package var handle: String
    /// The credential IDs of the account's passkeys, of which one authenticator has one at most.
    package var excluded: [String]
}

/// A passkey that a browser made.
package struct NewPasskey: Sendable {
    package var name: String
    package var clientData: [UInt8]
    package var authenticatorData: [UInt8]

    package init(name: String, clientData: [UInt8], authenticatorData: [UInt8]) {
        (self.name, self.clientData, self.authenticatorData) = (name, clientData, authenticatorData)
    }

    /// Takes the parts in base64url. A text that is none is an empty part, which is no passkey.
    package init(name: String, clientData: String, authenticatorData: String) {
        self.name = name
        self.clientData = Base64URL.bytes(of: clientData) ?? []
        self.authenticatorData = Base64URL.bytes(of: authenticatorData) ?? []
    }
}

extension Installation {
    /// The host whose passkeys sign in here; nil if the server has none, as at a URL without TLS or without a name.
    package var passkeyHost: String? { passkeyPlace?.relyingParty.id }

    /// Returns the passkeys of an account, also those of another host.
    package func passkeySummaries(ofAccountNamed name: String) async throws(ServiceError) -> [PasskeySummary] {
        let name = SignInName.canonical(name)
        return try await read { reader in
            try reader.passkeys(of: try reader.requireInstallationAccount(named: name).id).map(PasskeySummary.init)
        }
    }

    /// Returns the passkeys of a browser's account, and what a new one is made with.
    /// - Parameter binding: the token of the page's forms.
    package func passkeys(of browser: BrowserSession, binding: String) async throws(ServiceError) -> PasskeyState {
        let (now, host) = (environment.now(), passkeyHost)
        let (own, all, session, epoch) = try await read { reader in
            (
                try reader.entry(AccountPasskeys.self, browser.account), try reader.passkeys(of: browser.account),
                try reader.entry(StoredSession.self, browser.id), try reader.tokenEpoch()
            )
        }
        let isRecent =
            session.map { (try? Administrator.checkIsRecent($0.lastAuthenticatedAt, at: now)) != nil } ?? false
        var state = PasskeyState(passkeys: all.map(PasskeySummary.init), isRecent: isRecent)
        guard let host, isRecent, all.count < Limits.passkeysOfAccount else { return state }
        let handle = own?.handle ?? AccountPasskeys.makeHandle()
        state.creation = PasskeyCreation(
            challenge: try challengeText(.creation, binding: binding, epoch: epoch, handle: handle),
            relyingParty: host, handle: handle,
            excluded: all.filter { $0.passkey.relyingParty == host }.map(\.passkey.credential))
        return state
    }

    /// Adds a passkey to a browser's account.
    /// - Throws: `notAuthenticated` for a sign-in that is not recent, and for a passkey that was made for another page,
    ///   without verifying the person, or with a key of an unknown kind; `invalidArguments` for a name that is empty or
    ///   too long; `limitExceeded` for one passkey too many.
    package func addPasskey(
        _ new: NewPasskey, of browser: BrowserSession, binding: String, address: [UInt8]
    ) async throws(ServiceError) {
        let name = try Self.passkeyName(new.name)
        guard let (relyingParty, verifier) = passkeyPlace else { throw .noPasskeys }
        let text = try PasskeyClientData.challenge(new.clientData, .creation, relyingParty)
        let challenge = try challenge(text, .creation, binding: binding)
        guard let handle = challenge.handle, relyingParty.isNamed(in: new.authenticatorData),
            let credential = try await verified({ verifier.credential(in: new.authenticatorData) }),
            credential.isUsable
        else { throw .unusablePasskey }
        let id = Base64URL.text(of: credential.id)
        let passkey = StoredPasskey(
            account: browser.account, credential: id, relyingParty: relyingParty.id,
            algorithm: credential.key.algorithm, key: Base64URL.text(of: credential.key.bytes),
            counter: credential.counter, name: name, createdAt: environment.now())
        try await change(of: browser, "passkey added", StoredPasskey.name(id), address) { transaction in
            try transaction.use(challenge, text)
            try transaction.add(passkey, named: StoredPasskey.name(id), handle: handle)
            try self.note(.passkeyAdded, of: browser.account, in: transaction)
        }
    }

    /// Gives a passkey of the browser's account another name.
    /// - Throws: `unknownItem` for a passkey that the account has not; `invalidArguments` for a name that is empty or too
    ///   long; `notAuthenticated` for a sign-in that is not recent.
    package func renamePasskey(
        _ id: String, to name: String, of browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) {
        let name = try Self.passkeyName(name)
        try await change(of: browser, "passkey renamed", id, address) { transaction in
            guard var passkey = try transaction.entry(StoredPasskey.self, id), passkey.account == browser.account else {
                throw ServiceError.unknownPasskey
            }
            passkey.name = name
            try transaction.put(passkey, id)
        }
    }

    /// Removes a passkey of the browser's account.
    /// - Throws: `unknownItem` for a passkey that the account has not; `notAuthenticated` for a sign-in that is not recent.
    package func removePasskey(_ id: String, of browser: BrowserSession, address: [UInt8]) async throws(ServiceError) {
        try await change(of: browser, "passkey removed", id, address) { transaction in
            if try self.methods(of: browser.account, transaction).areLast([id]) { throw ServiceError.lastSignInMethod }
            guard try !transaction.removePasskeys(of: browser.account, id: id).isEmpty else {
                throw ServiceError.unknownPasskey
            }
            try self.note(.passkeyRemoved, of: browser.account, in: transaction)
        }
    }

    /// Removes passkeys of an account, with an event of the audit for each.
    @discardableResult
    func removePasskeys(
        of account: String, id: String? = nil, by actor: AuditActor, in transaction: StorageTransaction
    ) throws -> Int {
        let removed = try transaction.removePasskeys(of: account, id: id)
        for name in removed { try audit("passkey removed", name, by: actor, in: transaction) }
        if !removed.isEmpty { try note(.passkeyRemoved, of: account, in: transaction) }
        return removed.count
    }

    // MARK: Parts

    /// Runs a change of the passkeys of a browser's account, whose sign-in has to be recent.
    private func change(
        of browser: BrowserSession, _ event: String, _ id: String, _ address: [UInt8],
        _ body: @escaping @Sendable (StorageTransaction) throws -> Void
    ) async throws(ServiceError) {
        let now = environment.now()
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        try await write { transaction in
            guard let session = try transaction.entry(StoredSession.self, browser.id) else {
                throw ServiceError.sessionIsOver
            }
            try Administrator.checkIsRecent(session.lastAuthenticatedAt, at: now)
            try body(transaction)
            try self.audit(event, id, by: actor, in: transaction)
        }
    }

    /// Runs a verification where passwords are hashed, as it blocks.
    func verified<T: Sendable>(_ body: @escaping @Sendable () -> T) async throws(ServiceError) -> T {
        do {
            return try await passwordPool.run(body)
        } catch {
            throw environment.translate(error, requestID: "passkey")
        }
    }

    private static func passkeyName(_ text: String) throws(ServiceError) -> String {
        let isPrintable = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPrintable, text.contains(where: { !$0.isWhitespace }), text.utf8.count <= Limits.passkeyName else {
            throw .invalid("the name of a passkey has 1 to \(Limits.passkeyName) bytes of printable characters")
        }
        return text
    }
}

extension PasskeyCredential {
    /// Whether the person was present and verified (flags UP and UV, Web Authentication §6.1), and the ID is not too long
    /// (§5.1.3).
    fileprivate var isUsable: Bool {
        flags & 0b101 == 0b101 && (1...Limits.passkeyCredentialID).contains(id.count)
    }
}

extension StorageTransaction {
    /// - Parameter handle: the handle that the authenticator has for the account.
    fileprivate func add(_ passkey: StoredPasskey, named id: String, handle: String) throws {
        var own = try entry(AccountPasskeys.self, passkey.account) ?? AccountPasskeys(handle: handle)
        // The first passkeys of an account at the same time have different handles: one of them stays.
        guard own.handle == handle else { throw ServiceError.challengeIsOver }
        guard try entry(StoredPasskey.self, id) == nil else {
            throw ServiceError(.exists, .serverRejectedRequest, "the passkey is an account's already")
        }
        guard own.passkeys.count < Limits.passkeysOfAccount else {
            throw ServiceError.limitExceeded(
                "an account has at most \(Limits.passkeysOfAccount) passkeys: remove one")
        }
        own.passkeys.append(id)
        try put(own, passkey.account)
        try put(passkey, id)
    }
}

extension ServiceError {
    fileprivate static let unknownPasskey = ServiceError(
        .notFound, .unknownItem, "the account has no such passkey")
    static let noPasskeys = ServiceError.invalid("the server has no passkeys: its URL needs https:// and a name")
    fileprivate static let unusablePasskey = ServiceError(
        .authenticationFailed, .notAuthenticated,
        "the passkey was made for another site, or without a PIN, fingerprint or face, or is of an unknown kind")
}
