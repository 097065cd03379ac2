/// The outcome of a retry-safe request: the client names the request, and its own transaction writes the row.
package struct RequestKeyRow: Hashable, Sendable {
    package var account: Int64
    /// Unique within the account.
    package var key: String
    /// Distinguishes the request from others with its key.
    package var digest: [UInt8]
    /// Opaque here.
    package var outcome: [UInt8]
    /// Milliseconds since 1970.
    package var at: Int64

    package init(account: Int64, key: String, digest: [UInt8], outcome: [UInt8], at: Int64) {
        self.account = account
        self.key = key
        self.digest = digest
        self.outcome = outcome
        self.at = at
    }
}
