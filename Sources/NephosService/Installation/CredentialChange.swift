import NephosStorage

/// A change of what signs in to an account, besides its password. The raw value is stored.
enum CredentialChange: String, Codable, Hashable {
    case passkeyAdded, passkeyRemoved, providerAdded, providerRemoved, programTokenMade, programTokensRevoked
}

extension MailTemplate {
    init(_ change: CredentialChange) {
        switch change {
        case .passkeyAdded: self = .passkeyAdded
        case .passkeyRemoved: self = .passkeyRemoved
        case .providerAdded: self = .providerAdded
        case .providerRemoved: self = .providerRemoved
        case .programTokenMade: self = .programTokenMade
        case .programTokensRevoked: self = .programTokensRevoked
        }
    }
}

extension Installation {
    /// Queues a mail about a change to every verified address of its account, in the transaction of the change. Each kind
    /// of change has an allowance of its own: changes of one kind cannot use up the mails about another.
    func note(_ change: CredentialChange, of id: String, in transaction: StorageTransaction) throws {
        guard sendsMail, let account = try transaction.entry(InstallationAccount.self, id) else { return }
        let now = environment.now()
        for address in account.verifiedAddresses
        where try MailAllowance.take(recipient: "\(change.rawValue) \(address)", at: now, in: transaction) {
            try queue(.credentialsChanged, to: address, account: id, of: change, in: transaction)
        }
    }
}
