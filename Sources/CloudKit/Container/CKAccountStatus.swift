/// Whether there is an account to use CloudKit with (CKAccountStatus, Apple's documentation).
public enum CKAccountStatus: Int, Hashable, Sendable, BitwiseCopyable {
    /// An error says why.
    case couldNotDetermine = 0
    /// An account is signed in: the private database can be used.
    case available = 1
    /// An account is signed in that may not use iCloud. Never reported here.
    case restricted = 2
    /// No account is signed in: the public database can be read, and nothing else.
    case noAccount = 3
    /// There is an account, but it is not ready: wait for `CKAccountChanged`.
    case temporarilyUnavailable = 4
}
