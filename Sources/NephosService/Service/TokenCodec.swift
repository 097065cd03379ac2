import NephosCrypto
import NephosStorage

/// The strings that clients get and give back unread: where a page of a query ended, up to where a feed was read.
///
/// Each is authenticated, and good only where it was made: in its store, of whose secret the key is made; for one
/// database as one account sees it; for one purpose and one request. What comes back otherwise was not given by this
/// service, and nothing of it is looked at.
///
/// What says how far a client has read has the change sequence that was the last then, or one that follows from it, so that
/// a store that was restored from a backup of before knows it (`isLost`). Where a store's database was replaced by one that
/// may lack anything, an epoch begins, and what was given in others was not given.
struct TokenCodec: Sendable {
    enum Purpose: String {
        /// `continuationMarker` of `records/query`.
        case continuationMarker
        /// `syncToken` of a zone and of a database.
        case syncToken
        /// `fetchEnd` of both.
        case fetchEnd
        /// `continuationMarker` of an administrator's list of zones.
        case accountZones
        /// `continuationMarker` of an administrator's list of accounts.
        case accounts
        /// What the page of a share accepts it with.
        case shareAcceptance
    }

    let key: AuthenticationKey
    /// What tells the database, as its caller sees it, from others.
    let database: String
    /// The store's.
    var epoch: Int64 = 0
    /// The change sequences that the store gave and lost.
    var lost: [ClosedRange<Int64>] = []

    /// Whether a string with this change sequence was given by the store in a time of which it has lost everything.
    func isLost(_ sequence: Int64) -> Bool { lost.contains { $0.contains(sequence) } }

    /// - Parameter request: what of the request has to be the same when the string comes back.
    func text(_ content: [UInt8], for purpose: Purpose, of request: [UInt8] = []) -> String {
        AuthenticatedToken(content).text(key, purpose: purpose.rawValue, context: context(request))
    }

    /// Nil for what `text` did not give for the same.
    func content(of text: String, for purpose: Purpose, of request: [UInt8] = []) -> [UInt8]? {
        AuthenticatedToken(text, key, purpose: purpose.rawValue, context: context(request))?.content
    }

    /// A zero ends the database's name, which has none and begins with no digit.
    private func context(_ request: [UInt8]) -> [UInt8] {
        (epoch == 0 ? [] : Array("\(epoch) ".utf8)) + Array(database.utf8) + [0] + request
    }
}

/// Finds a store's secret, or makes it.
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
        // Where another server was faster, its secret stays.
        guard let key = try find(transaction) else { throw StorageError(.other, "The store keeps no secret.") }
        return key
    }
}
