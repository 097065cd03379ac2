/// The status of the account that CloudKit uses (CKAccountStatus, Apple's documentation).
public enum CKAccountStatus: Int, Hashable, Sendable, BitwiseCopyable {
    /// The status is unknown; an error gives the reason.
    case couldNotDetermine = 0
    /// An account is signed in: the private database can be used.
    case available = 1
    /// An account is signed in, but may not use iCloud. Never reported here.
    case restricted = 2
    /// No account is signed in: the app can only read the public database.
    case noAccount = 3
    /// There is an account, but it is not ready: wait for `CKAccountChanged`.
    case temporarilyUnavailable = 4
}
