import NephosCrypto
import NephosStorage
package import NephosWire

/// The idempotency key of a request that modifies records: a repetition within the hour gets the first response and
/// changes nothing. The outcome is written in the request's transaction, so both are stored or neither.
struct RequestKey {
    /// The request was carried out before: its transaction is rolled back, and this is the response.
    struct Repeated: Error {
        var response: RecordsResponse
    }

    let key: String
    private let digest: [UInt8]
    let account: Int64
    private let now: Int64

    /// - Parameter isShared: whether the store itself may lose the answer to a commit: then the request always has a
    ///   key.
    /// - Returns: nil for a request without a key.
    init?(
        _ request: ModifyRecordsRequest, _ account: AccountRow, scope: DatabaseScope, isShared: Bool, now: Int64
    ) throws(ServiceError) {
        guard let key = request.requestKey ?? (isShared ? ModifyRecordsRequest.makeRequestKey(now: now) : nil) else {
            return nil
        }
        let isValid = key.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isValid, (1...Limits.requestKeyLength).contains(key.utf8.count) else {
            throw .invalid("nephosRequestKey must hold 1 to \(Limits.requestKeyLength) letters, digits and '-'")
        }
        self.key = key
        digest = Array(scope.rawValue.utf8) + request.bodyDigest
        self.account = account.id
        self.now = now
    }

    /// Aborts a transaction whose request was carried out before.
    /// - Parameter isSure: whether to check now; otherwise the engine may defer the check to the commit.
    /// - Throws: `Repeated`, or `ServiceError` if the key belongs to another request.
    func check(in transaction: StorageTransaction, isSure: Bool) throws {
        guard let row = try transaction.requestKey(account: account, key: key, isSure: isSure) else { return }
        guard row.digest == digest else {
            throw ServiceError.invalid("nephosRequestKey '\(key)' is that of another request: make one for each")
        }
        if row.outcome.isEmpty {
            throw ServiceError(
                .conflict, .serverRejectedRequest,
                "the request was carried out before, and its answer was too large to be kept: fetch the records")
        }
        throw Repeated(response: try RecordsResponse(decoding: row.outcome))
    }

    /// Stores the outcome of the request.
    /// - Returns: the stored bytes.
    func keep(_ response: RecordsResponse, in transaction: StorageTransaction) throws -> Int {
        var outcome = response.encoded()
        if outcome.count > Limits.requestOutcomeSize { outcome = [] }
        try transaction.insert(
            RequestKeyRow(account: account, key: key, digest: digest, outcome: outcome, at: now))
        return outcome.count
    }
}

extension NephosService {
    /// Decodes a body of `records/modify`; an empty one counts as `{}`.
    package func decodedModification(_ body: [UInt8]) throws(WireError) -> ModifyRecordsRequest {
        var request = try ModifyRecordsRequest(decoding: body)
        if request.requestKey != nil {
            let hash = StreamingHash(.blake2b)
            body.withUnsafeBytes { hash.update($0) }
            request.bodyDigest = hash.finish()
        }
        return request
    }
}
