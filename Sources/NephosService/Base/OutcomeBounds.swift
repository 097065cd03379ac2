/// The bounds of the request outcomes that a store keeps for repetitions of the requests.
struct OutcomeBounds: Sendable {
    /// The maximum number of outcomes per account.
    var perAccount = Limits.requestKeysPerAccount
    /// The maximum number of bytes of outcomes per account.
    var bytesPerAccount = Limits.requestOutcomesSize
    /// The maximum number of outcomes of unsigned requests per store.
    var inAll = Limits.requestKeys
}
