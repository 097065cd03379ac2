/// The status of the account that CloudKit uses (CKAccountStatus, Apple's documentation).
public enum CKAccountStatus: Int, Hashable, Sendable, BitwiseCopyable {
    /// The status is unknown. An error names the reason.
    case couldNotDetermine = 0
    /// An account is signed in: the private database can be used.
    case available = 1
    /// An account is signed in but may not use iCloud. This library never reports it.
    case restricted = 2
    /// No account is signed in. The app can only read the public database.
    case noAccount = 3
    /// An account is signed in but not ready. The app waits for `CKAccountChanged`.
    case temporarilyUnavailable = 4
}
