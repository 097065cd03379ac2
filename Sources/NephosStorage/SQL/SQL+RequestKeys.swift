extension SQL {
    /// The statements about the outcomes of requests.
    var requestKeyText: String {
        switch self {
        case .requestKey: "SELECT digest, outcome, at FROM request_key WHERE account = $1 AND key = $2"
        // One that is there already fails the transaction: it is another run of the same request.
        case .insertRequestKey:
            "INSERT INTO request_key (account, key, digest, outcome, at) VALUES ($1, $2, $3, $4, $5)"
        case .purgeRequestKeys:
            """
            DELETE FROM request_key WHERE account = $1 AND key IN (
                SELECT key FROM request_key WHERE account = $1 AND at < $2 ORDER BY at LIMIT $3)
            """
        case .requestKeyTime:
            "SELECT at FROM request_key WHERE account = $1 ORDER BY at DESC LIMIT 1 OFFSET $2"
        case .requestKeySizes:
            "SELECT at, length(outcome) FROM request_key WHERE account = $1 ORDER BY at DESC LIMIT $2"
        case .oldestRequestKeyTime: "SELECT at FROM request_key WHERE account = $1 ORDER BY at LIMIT 1"
        case .requestKeyAccount: "SELECT account FROM request_key WHERE account > $1 ORDER BY account LIMIT 1"
        case .countRequestKeys: "SELECT count(*) FROM (SELECT 1 FROM request_key LIMIT $1) AS found"
        default: preconditionFailure("\(self) is no statement about requests")
        }
    }
}

extension StorageReader {
    /// What came of a request. Where it is not to be sure, an engine that has a write run again whose key turns out to be
    /// taken may answer nil without looking, the first time.
    package final func requestKey(account: Int64, key: String, isSure: Bool) throws -> RequestKeyRow? {
        if !isSure && connection.findsTakenKeysLater { return nil }
        return try row(.requestKey) {
            try $0.bind(account).bind(key)
        } read: {
            RequestKeyRow(account: account, key: key, digest: $0.bytes(0), outcome: $0.bytes(1), at: $0.integer(2))
        }
    }

    /// The first account behind another one of whose requests something is kept; nil where there is none.
    package final func requestKeyAccount(after account: Int64) throws -> Int64? {
        try row(.requestKeyAccount, bind: { try $0.bind(account) }, read: { $0.integer(0) })
    }

    /// When the account's newest request was carried out that has `count` newer ones; nil where there are not as many.
    package final func requestKeyTime(account: Int64, behind count: Int) throws -> Int64? {
        try row(.requestKeyTime, bind: { try $0.bind(account).bind(limit: count) }, read: { $0.integer(0) })
    }

    /// When the account's newest request was carried out whose outcome and those of all newer ones take more bytes, among its
    /// newest `count`; nil where they do not.
    package final func requestKeyTime(account: Int64, beyond bytes: Int, of count: Int) throws -> Int64? {
        var total: Int64 = 0
        return try rows(.requestKeySizes) {
            try $0.bind(account).bind(limit: count)
        } read: {
            (at: $0.integer(0), size: $0.integer(1))
        }.first { newest in
            total += newest.size
            return total > bytes
        }?.at
    }

    /// When the account's oldest request was carried out of which something is kept.
    package final func oldestRequestKeyTime(account: Int64) throws -> Int64? {
        try row(.oldestRequestKeyTime, bind: { try $0.bind(account) }, read: { $0.integer(0) })
    }

    /// How many requests something is kept of; `limit` where they are as many or more.
    package final func countRequestKeys(limit: Int) throws -> Int {
        try row(.countRequestKeys, bind: { try $0.bind(limit: limit) }, read: { Int($0.integer(0)) }) ?? 0
    }
}

extension StorageTransaction {
    /// Adds what came of a request. Where another transaction is about to add the same it waits for that one.
    /// - Throws: `StorageError` `.constraint` if it is there, unless the write runs again for that.
    package func insert(_ request: RequestKeyRow) throws {
        try change(.insertRequestKey) {
            try $0.bind(request.account).bind(request.key).bind(request.digest).bind(request.outcome).bind(request.at)
        }
    }

    /// Removes up to `limit` of what came of an account's requests before `time`, the oldest first; returns how many it removed.
    package func purgeRequestKeys(account: Int64, before time: Int64, limit: Int) throws -> Int {
        try change(.purgeRequestKeys) { try $0.bind(account).bind(time).bind(limit: limit) }
    }
}
