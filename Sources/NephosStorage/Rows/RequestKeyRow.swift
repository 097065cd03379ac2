/// What came of a request that its client may repeat: the client names it, and the row is written in its transaction.
package struct RequestKeyRow: Hashable, Sendable {
    package var account: Int64
    /// Unique within the account.
    package var key: String
    /// What tells the request apart from others.
    package var digest: [UInt8]
    /// Opaque here.
    package var outcome: [UInt8]
    /// In milliseconds since 1970.
    package var at: Int64

    package init(account: Int64, key: String, digest: [UInt8], outcome: [UInt8], at: Int64) {
        self.account = account
        self.key = key
        self.digest = digest
        self.outcome = outcome
        self.at = at
    }
}
