package import NephosStorage

/// Verifies the entries of the installation's store:
///
/// - every entry can be decoded;
/// - every account has its name, and every name its account;
/// - every session has its account, and its entry among the account's sessions, and the other way round;
/// - every role has its account, and every API token its container;
/// - no container that is being deleted exists;
/// - every batch of the audit has the hash of the one before;
/// - every name that is adopted has its account;
/// - every program token has its account, and its entry among the account's tokens, and the other way round;
/// - every verified address has its account, and is among the account's addresses;
/// - every provider's person has its account, and its entry among the account's, and the other way round;
/// - every passkey has its account, and is among the account's passkeys, and the other way round.
///
/// Entries that have expired are counted only, as a purge removes them one by one.
package struct InstallationVerification: Sendable {
    package struct Findings: Sendable {
        package var entries = 0
        /// The descriptions of the first problems, at most 100.
        package private(set) var problems: [String] = []
        package private(set) var problemCount = 0

        fileprivate mutating func note(_ problem: String) {
            problemCount += 1
            if problems.count < 100 { problems.append(problem) }
        }
    }

    private let engine: any StorageEngine
    private let now: Int64

    /// - Parameter environment: the clock that tells which entries have expired.
    package init(_ engine: any StorageEngine, _ environment: ServiceEnvironment = .system) {
        self.engine = engine
        now = environment.now()
    }

    package func run() async throws -> Findings {
        var findings = Findings()
        for kind in InstallationEntry.Kind.allCases {
            var last = ""
            while true {
                let (now, after, before) = (now, last, findings)
                // An entry and those that belong to it are read in one snapshot.
                let page = try await engine.read { reader in
                    var findings = before
                    let entries = try reader.installationEntries(kind, after: after, limit: Limits.entriesPerRead)
                    for entry in entries {
                        findings.entries += 1
                        if entry.expiresAt > 0 && entry.expiresAt <= now { continue }
                        if let problem = try Self.problem(of: entry, at: now, reader) { findings.note(problem) }
                    }
                    return (findings: findings, last: entries.last?.name)
                }
                findings = page.findings
                guard let name = page.last else { break }
                last = name
            }
        }
        return findings
    }

    /// Describes the problem of an entry; nil if the entry is whole.
    private static func problem(
        of entry: InstallationEntry, at now: Int64, _ reader: StorageReader
    ) throws -> String? {
        do {
            return switch entry.kind {
            case .account: try problem(ofAccount: entry.name, try .decoded(entry), reader)
            case .accountName: try problem(ofName: entry.name, try .decoded(entry), reader)
            case .session: try problem(ofSession: entry.name, try .decoded(entry), reader)
            case .accountSession: try problem(ofAccountSession: entry, reader)
            case .role: try problem(ofRole: entry, reader)
            case .apiToken: try problem(ofToken: entry.name, try .decoded(entry), reader)
            case .container: try unread(StoredContainer.self, entry)
            case .failedSignIns: try unread(FailedSignIns.self, entry)
            case .knownDevice: try unread(KnownDevice.self, entry)
            case .audit: try unread(AuditedEvent.self, entry)
            case .auditBatch: try reader.problem(ofBatch: entry, at: now)
            case .auditHead: try unread(AuditHead.self, entry) ?? reader.problemOfAuditHead(at: now)
            case .serverKey: try problem(ofServerKey: entry.name, try .decoded(entry), reader)
            case .login: try unread(StoredLogin.self, entry)
            case .loginCode: try unread(StoredLoginCode.self, entry)
            case .adoptedName: try problem(ofAdopted: entry.name, try .decoded(entry), reader)
            case .verifiedAddress: try problem(ofAddress: entry.name, try .decoded(entry), reader)
            case .link: try unread(StoredLink.self, entry)
            case .queuedMail: try unread(QueuedMail.self, entry)
            case .mailAllowance: try unread(MailAllowance.self, entry)
            case .programToken: try problem(ofProgramToken: entry.name, try .decoded(entry), reader)
            case .accountProgramToken: try problem(ofAccountProgramToken: entry, reader)
            case .doneUpgrade: try unread(DoneUpgrade.self, entry)
            case .identity: try problem(ofIdentity: entry.name, try .decoded(entry), reader)
            case .accountIdentity: try problem(ofAccountIdentity: entry, reader)
            case .usedProviderSignIn: try unread(UsedProviderSignIn.self, entry)
            case .passkey: try problem(ofPasskey: entry.name, try .decoded(entry), reader)
            case .accountPasskeys: try problem(ofPasskeysOf: entry.name, try .decoded(entry), reader)
            case .usedChallenge: try unread(UsedChallenge.self, entry)
            case .serverKeyUser: try unread(ServerKeyUser.self, entry)
            case .claimedRequest: try unread(ClaimedRequest.self, entry)
            case .begunDeletion: try unread(BegunDeletion.self, entry)
            case .begunContainerDeletion: try problem(ofDeletion: entry, reader)
            }
        } catch let error as StorageError where error.code == .damaged {
            return error.message
        }
    }

    /// Returns nil for an entry that can be decoded.
    private static func unread<Value: StoredEntry>(_ type: Value.Type, _ entry: InstallationEntry) throws -> String? {
        _ = try Value.decoded(entry)
        return nil
    }

    private static func problem(
        ofAccount id: String, _ account: InstallationAccount, _ reader: StorageReader
    ) throws -> String? {
        let named = try reader.entry(NamedAccount.self, account.name)?.id
        if named == id { return nil }
        return "account \(id): its name '\(account.name)' is \(named.map { "that of account \($0)" } ?? "no account's")"
    }

    private static func problem(
        ofName name: String, _ named: NamedAccount, _ reader: StorageReader
    ) throws -> String? {
        guard let account = try reader.entry(InstallationAccount.self, named.id) else {
            return "the name '\(name)' is that of account \(named.id), which does not exist"
        }
        if account.name == name { return nil }
        return "the name '\(name)' is that of account \(named.id), whose name is '\(account.name)'"
    }

    private static func problem(
        ofSession hash: String, _ session: StoredSession, _ reader: StorageReader
    ) throws -> String? {
        if try !reader.has(.account, session.account) {
            return "session \(hash): its account \(session.account) does not exist"
        }
        if try reader.has(.accountSession, AccountSession.name(session.account, hash)) { return nil }
        return "session \(hash): it is not among the sessions of account \(session.account)"
    }

    private static func problem(
        ofAccountSession entry: InstallationEntry, _ reader: StorageReader
    ) throws -> String? {
        _ = try AccountSession.decoded(entry)
        guard let (account, hash) = parts(entry.name) else { return "'\(entry.name)' names no session of an account" }
        guard let session = try reader.installationEntry(.session, hash) else {
            return "account \(account): its session \(hash) does not exist"
        }
        // A damaged session is a problem of its own.
        guard let session = try? StoredSession.decoded(session), session.account != account else { return nil }
        return "account \(account): its session \(hash) is that of account \(session.account)"
    }

    private static func problem(
        ofProgramToken hash: String, _ token: StoredProgramToken, _ reader: StorageReader
    ) throws -> String? {
        if try !reader.has(.account, token.account) {
            return "program token \(hash): its account \(token.account) does not exist"
        }
        if try reader.has(.accountProgramToken, AccountProgramToken.name(token.account, hash)) { return nil }
        return "program token \(hash): it is not among those of account \(token.account)"
    }

    private static func problem(
        ofAccountProgramToken entry: InstallationEntry, _ reader: StorageReader
    ) throws -> String? {
        _ = try AccountProgramToken.decoded(entry)
        guard let (account, hash) = parts(entry.name) else {
            return "'\(entry.name)' names no program token of an account"
        }
        guard let token = try reader.installationEntry(.programToken, hash) else {
            return "account \(account): its program token \(hash) does not exist"
        }
        guard let token = try? StoredProgramToken.decoded(token), token.account != account else { return nil }
        return "account \(account): its program token \(hash) is that of account \(token.account)"
    }

    private static func problem(ofRole entry: InstallationEntry, _ reader: StorageReader) throws -> String? {
        let role = try StoredRole.decoded(entry).role
        if let account = parts(entry.name)?.account, try reader.has(.account, account) { return nil }
        return "the role '\(entry.name)', \(role.rawValue): its account does not exist"
    }

    private static func problem(ofToken text: String, _ token: APIToken, _ reader: StorageReader) throws -> String? {
        if try reader.hasAny(ofContainer: token.container) { return nil }
        return "API token \(text): its container \(token.container) does not exist"
    }

    private static func problem(ofDeletion entry: InstallationEntry, _ reader: StorageReader) throws -> String? {
        _ = try BegunContainerDeletion.decoded(entry)
        guard try reader.has(.container, entry.name) else { return nil }
        return "the container \(entry.name) exists, and is being deleted"
    }

    private static func problem(
        ofAdopted name: String, _ adopted: AdoptedName, _ reader: StorageReader
    ) throws -> String? {
        guard let account = adopted.account, try !reader.has(.account, account) else { return nil }
        return "the name '\(name)' became account \(account), which does not exist"
    }

    private static func problem(
        ofServerKey id: String, _ key: StoredServerKey, _ reader: StorageReader
    ) throws -> String? {
        if try reader.hasAny(ofContainer: key.container) { return nil }
        return "server key \(id): its container \(key.container) does not exist"
    }

    private static func problem(
        ofAddress address: String, _ verified: VerifiedAddress, _ reader: StorageReader
    ) throws -> String? {
        guard let account = try reader.entry(InstallationAccount.self, verified.account) else {
            return "the address '\(address)' is that of account \(verified.account), which does not exist"
        }
        if account.verifiedAddresses.contains(address) { return nil }
        return "the address '\(address)' is that of account \(verified.account), which lacks it"
    }

    private static func problem(
        ofIdentity name: String, _ identity: StoredIdentity, _ reader: StorageReader
    ) throws -> String? {
        if try !reader.has(.account, identity.account) {
            return "identity \(name): its account \(identity.account) does not exist"
        }
        if try reader.has(.accountIdentity, AccountIdentity.name(identity.account, name)) { return nil }
        return "identity \(name): it is not among those of account \(identity.account)"
    }

    private static func problem(
        ofAccountIdentity entry: InstallationEntry, _ reader: StorageReader
    ) throws -> String? {
        _ = try AccountIdentity.decoded(entry)
        guard let (account, name) = parts(entry.name) else { return "'\(entry.name)' names no identity of an account" }
        guard let identity = try reader.installationEntry(.identity, name) else {
            return "account \(account): its identity \(name) does not exist"
        }
        // A damaged one is a problem of its own.
        guard let identity = try? StoredIdentity.decoded(identity), identity.account != account else { return nil }
        return "account \(account): its identity \(name) is that of account \(identity.account)"
    }

    private static func problem(
        ofPasskey id: String, _ passkey: StoredPasskey, _ reader: StorageReader
    ) throws -> String? {
        if try !reader.has(.account, passkey.account) {
            return "passkey \(id): its account \(passkey.account) does not exist"
        }
        if try reader.entry(AccountPasskeys.self, passkey.account)?.passkeys.contains(id) == true { return nil }
        return "passkey \(id): it is not among the passkeys of account \(passkey.account)"
    }

    private static func problem(
        ofPasskeysOf account: String, _ own: AccountPasskeys, _ reader: StorageReader
    ) throws -> String? {
        if try !reader.has(.account, account) { return "the account \(account) of passkeys does not exist" }
        for id in own.passkeys {
            guard let passkey = try reader.installationEntry(.passkey, id) else {
                return "account \(account): its passkey \(id) does not exist"
            }
            // A damaged passkey is a problem of its own.
            guard let passkey = try? StoredPasskey.decoded(passkey), passkey.account != account else { continue }
            return "account \(account): its passkey \(id) is that of account \(passkey.account)"
        }
        return nil
    }

    /// Returns the two parts of a name such as `ACCOUNT/HASH`.
    private static func parts(_ name: String) -> (account: String, rest: String)? {
        guard let slash = name.firstIndex(of: "/") else { return nil }
        return (String(name[..<slash]), String(name[name.index(after: slash)...]))
    }
}

extension StorageReader {
    /// Whether a container exists, or is being deleted: then its entries are removed one by one.
    fileprivate func hasAny(ofContainer container: String) throws -> Bool {
        try has(.container, container) || has(.begunContainerDeletion, container)
    }

    fileprivate func has(_ kind: InstallationEntry.Kind, _ name: String) throws -> Bool {
        try installationEntry(kind, name) != nil
    }
}
