/// The outcome of a retry-safe request. The client names the request by its key, and the request's own transaction
/// writes the row.
package struct RequestKeyRow: Hashable, Sendable {
    /// The beginning of the keys of signed requests, whose outcomes decide that a signature is used once.
    package static let signedPrefix = "signed-"

    package var account: Int64
    /// The key that the client chose for the request, unique within the account.
    package var key: String
    /// A hash of the request's content, which distinguishes it from other requests with the same key.
    package var digest: [UInt8]
    /// The encoded outcome, opaque to the storage layer.
    package var outcome: [UInt8]
    /// The time of the request in milliseconds since 1970.
    package var at: Int64

    package init(account: Int64, key: String, digest: [UInt8], outcome: [UInt8], at: Int64) {
        self.account = account
        self.key = key
        self.digest = digest
        self.outcome = outcome
        self.at = at
    }
}
