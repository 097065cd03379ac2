extension SQL {
    /// The statements that read and write the outcomes of requests.
    var requestKeyText: String? {
        switch self {
        case .requestKey: "SELECT digest, outcome, at FROM request_key WHERE account = $1 AND key = $2"
        // A duplicate key fails the transaction, because another run of the same request has stored it.
        case .insertRequestKey:
            "INSERT INTO request_key (account, key, digest, outcome, at) VALUES ($1, $2, $3, $4, $5)"
        case .purgeRequestKeys:
            """
            DELETE FROM request_key WHERE account = $1 AND key IN (
                SELECT key FROM request_key WHERE account = $1 AND at < $2 AND (at < $3 OR \(Self.isUnsigned))
                ORDER BY at LIMIT $4)
            """
        case .requestKeyTime:
            "SELECT at FROM request_key WHERE account = $1 ORDER BY at DESC LIMIT 1 OFFSET $2"
        case .requestKeySizes:
            "SELECT at, length(outcome) FROM request_key WHERE account = $1 ORDER BY at DESC LIMIT $2"
        case .oldestRequestKeyTime: "SELECT at FROM request_key WHERE account = $1 ORDER BY at LIMIT 1"
        case .requestKeyAccount:
            "SELECT account FROM request_key WHERE account > $1 AND \(Self.withinStore("account")) ORDER BY account LIMIT 1"
        case .countRequestKeys:
            """
            SELECT count(*) FROM (
                SELECT 1 FROM request_key WHERE \(Self.withinStore("account")) AND \(Self.isUnsigned) LIMIT $1) AS found
            """
        default: nil
        }
    }

    /// Whether a key is none with the prefix of signed requests: '.' follows '-'.
    private static let isUnsigned = "(key < 'signed-' OR key >= 'signed.')"
}

extension StorageReader {
    /// The outcome of a request; nil if none is stored. If `isSure` is false, an engine may answer nil without a lookup
    /// in the first run, provided that it reruns a write after a duplicate key.
    package final func requestKey(account: Int64, key: String, isSure: Bool) throws -> RequestKeyRow? {
        if !isSure && connection.findsTakenKeysLater { return nil }
        return try row(.requestKey) {
            try $0.bind(owner: account).bind(key)
        } read: {
            RequestKeyRow(account: account, key: key, digest: $0.bytes(0), outcome: $0.bytes(1), at: $0.integer(2))
        }
    }

    /// The first account above `account` that has stored outcomes; nil if there is none.
    package final func requestKeyAccount(after account: Int64) throws -> Int64? {
        try row(.requestKeyAccount, bind: { try $0.bind(owner: account) }, read: { $0.owner(0) })
    }

    /// The time of the account's newest request that has at least `count` newer requests; nil if no request has as
    /// many.
    package final func requestKeyTime(account: Int64, behind count: Int) throws -> Int64? {
        try row(.requestKeyTime, bind: { try $0.bind(owner: account).bind(limit: count) }, read: { $0.integer(0) })
    }

    /// The time of the newest request whose outcome, together with the outcomes of all newer requests, exceeds `bytes`.
    /// Only the newest `count` requests of the account are examined. Nil if their outcomes fit.
    package final func requestKeyTime(account: Int64, beyond bytes: Int, of count: Int) throws -> Int64? {
        var total: Int64 = 0
        return try rows(.requestKeySizes) {
            try $0.bind(owner: account).bind(limit: count)
        } read: {
            (at: $0.integer(0), size: $0.integer(1))
        }.first { newest in
            total += newest.size
            return total > bytes
        }?.at
    }

    /// The time of the account's oldest request with a stored outcome; nil if there is none.
    package final func oldestRequestKeyTime(account: Int64) throws -> Int64? {
        try row(.oldestRequestKeyTime, bind: { try $0.bind(owner: account) }, read: { $0.integer(0) })
    }

    /// The number of stored outcomes of requests that are not signed, counted up to `limit`.
    package final func countRequestKeys(limit: Int) throws -> Int {
        try row(.countRequestKeys, bind: { try $0.bind(limit: limit) }, read: { Int($0.integer(0)) }) ?? 0
    }
}

extension StorageTransaction {
    /// Adds the outcome of a request. Blocks while another transaction is about to add the same key.
    /// - Throws: `StorageError` `.constraint` if the key exists, unless the engine reruns the write after a duplicate
    ///   key.
    package func insert(_ request: RequestKeyRow) throws {
        try change(.insertRequestKey) {
            try $0.bind(owner: request.account).bind(request.key).bind(request.digest).bind(request.outcome).bind(
                request.at)
        }
    }

    /// Inserts and deletes a row, so that the commit has something to write. The row's account does not exist.
    package func testWriting() throws {
        try insert(RequestKeyRow(account: .min, key: "readiness", digest: [], outcome: [], at: 0))
        _ = try purgeRequestKeys(account: .min, before: 1, signedBefore: 1, limit: 1)
    }

    /// Removes up to `limit` outcomes of an account's requests before `time`, the oldest first, and of its signed requests
    /// those before `signedTime` too.
    /// - Returns: the number of removed outcomes.
    package func purgeRequestKeys(
        account: Int64, before time: Int64, signedBefore signedTime: Int64, limit: Int
    ) throws -> Int {
        try change(.purgeRequestKeys) {
            try $0.bind(owner: account).bind(time).bind(signedTime).bind(limit: limit)
        }
    }
}
