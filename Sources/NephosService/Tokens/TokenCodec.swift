import NephosCrypto
import NephosStorage

/// Encodes the opaque strings that clients receive and send back: continuation markers and change tokens.
///
/// Each string is authenticated. It is valid only in its store, from whose secret the key is derived; for one database
/// as one account sees it; and for one purpose and one request. Any other string counts as forged and is not parsed.
///
/// A string that records a client's position contains the last change sequence at the time, or one derived from it, so
/// that a store restored from an earlier backup recognises the string (`isLost`). A store whose database was replaced
/// by one that may lack data starts a new epoch, in which the strings of earlier epochs are invalid.
struct TokenCodec: Sendable {
    enum Purpose: String {
        /// `continuationMarker` of `records/query`.
        case continuationMarker
        /// `syncToken` of a zone and of a database.
        case syncToken
        /// `fetchEnd` of a zone and of a database.
        case fetchEnd
        /// `continuationMarker` of an administrator's list of zones.
        case accountZones
        /// `continuationMarker` of an administrator's list of accounts.
        case accounts
        /// `continuationMarker` of an administrator's list of records.
        case recordList
        /// `continuationMarker` of an administrator's search of records.
        case recordSearch
        /// `continuationMarker` of an administrator's search of values.
        case valueSearch
        /// The token with which a share's page accepts the share.
        case shareAcceptance
        /// The session to which a push token's poll belongs.
        case poll
    }

    let key: AuthenticationKey
    /// The name that identifies the database as its caller sees it.
    let database: String
    /// The store's token epoch; 0 for the first.
    var epoch: Int64 = 0
    /// The ranges of change sequences that the store assigned and lost in a restore.
    var lost: [ClosedRange<Int64>] = []

    /// Whether the store assigned this change sequence and lost it in a restore.
    func isLost(_ sequence: Int64) -> Bool { lost.contains { $0.contains(sequence) } }

    /// Encodes a content as an opaque string.
    /// - Parameter request: the parts of the request that must be the same when the client sends the string back.
    func text(_ content: [UInt8], for purpose: Purpose, of request: [UInt8] = []) -> String {
        AuthenticatedToken(content).text(key, purpose: purpose.rawValue, context: context(request))
    }

    /// Decodes an opaque string; nil unless `text(_:for:of:)` made it for the same purpose and request.
    func content(of text: String, for purpose: Purpose, of request: [UInt8] = []) -> [UInt8]? {
        AuthenticatedToken(text, key, purpose: purpose.rawValue, context: context(request))?.content
    }

    /// A zero byte terminates the name of the database. The name contains no zero and does not begin with a digit.
    private func context(_ request: [UInt8]) -> [UInt8] {
        (epoch == 0 ? [] : Array("\(epoch) ".utf8)) + Array(database.utf8) + [0] + request
    }
}

/// Finds or creates the secret of a store.
enum StoreSecret {
    static func find(_ reader: StorageReader) throws -> AuthenticationKey? {
        guard let secret = try reader.secret() else { return nil }
        guard let key = AuthenticationKey(secret) else {
            throw StorageError(
                .damaged, "The store's secret has \(secret.count) bytes instead of \(AuthenticationKey.size).")
        }
        return key
    }

    static func findOrMake(
        _ environment: ServiceEnvironment, in transaction: StorageTransaction
    ) throws -> AuthenticationKey {
        if let key = try find(transaction) { return key }
        try transaction.setSecret(environment.makeSecret())
        // If another server has created a secret first, that secret stays.
        guard let key = try find(transaction) else { throw StorageError(.other, "The store keeps no secret.") }
        return key
    }
}
