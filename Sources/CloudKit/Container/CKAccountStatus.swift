/// Whether there is an account to use CloudKit with (CKAccountStatus, Apple's documentation).
public enum CKAccountStatus: Int, Hashable, Sendable {
    /// An error says why.
    case couldNotDetermine = 0
    case available = 1
    case restricted = 2
    case noAccount = 3
    /// There is an account, but it is not ready: wait for `CKAccountChanged`.
    case temporarilyUnavailable = 4
}
