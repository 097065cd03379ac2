import NephosCrypto
import NephosStorage
package import NephosWire

/// The idempotency key of a request that modifies records. A repetition of the request within the hour gets the first
/// response and changes nothing. The outcome is written in the request's transaction, so both are committed or neither.
struct RequestKey {
    /// Thrown if the request was performed before. Its transaction is rolled back, and `response` is the first
    /// response.
    struct Repeated: Error {
        var response: RecordsResponse
    }

    let key: String
    private let digest: [UInt8]
    let account: Int64
    /// Whether the request is signed, so that the server made the key.
    let isSigned: Bool
    private let now: Int64

    /// Takes the key of a request; nil for a request without a key.
    /// - Parameter isShared: whether the connection to the store may lose the answer to a commit. Then a request
    ///   without a key gets one.
    init?(
        _ request: ModifyRecordsRequest, _ account: AccountRow, scope: DatabaseScope, isSigned: Bool, isShared: Bool,
        now: Int64
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
        guard isSigned || !key.hasPrefix(RequestKeyRow.signedPrefix) else {
            throw .invalid(
                "nephosRequestKey must not begin with '\(RequestKeyRow.signedPrefix)', as keys of the server do")
        }
        self.key = key
        self.isSigned = isSigned
        digest = Array(scope.rawValue.utf8) + request.bodyDigest
        self.account = account.id
        self.now = now
    }

    /// Aborts a transaction whose request was performed before.
    /// - Parameter isSure: whether to check now. If false, the engine may defer the check to the commit.
    /// - Throws: `Repeated`, or `ServiceError` if the key belongs to another request or the first response was not
    ///   stored.
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

    /// Stores the outcome of the request. An outcome of more than `Limits.requestOutcomeSize` bytes is stored as empty.
    /// - Returns: the number of bytes stored for the outcome.
    func keep(_ response: RecordsResponse, in transaction: StorageTransaction) throws -> Int {
        var outcome = response.encoded()
        if outcome.count > Limits.requestOutcomeSize { outcome = [] }
        try transaction.insert(
            RequestKeyRow(account: account, key: key, digest: digest, outcome: outcome, at: now))
        return outcome.count
    }
}

extension NephosService {
    /// Decodes a body of `records/modify`. An empty body counts as `{}`.
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
