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
            DELETE FROM request_key WHERE (account, key) IN (
                SELECT account, key FROM request_key WHERE at < $1 ORDER BY at LIMIT $2)
            """
        case .requestKeyTime: "SELECT at FROM request_key ORDER BY at DESC LIMIT 1 OFFSET $1"
        default: preconditionFailure("\(self) is no statement about requests")
        }
    }
}

extension SQLReader {
    package final func requestKey(account: Int64, key: String, isSure: Bool) throws -> RequestKeyRow? {
        if !isSure && connection.findsTakenKeysLater { return nil }
        return try row(.requestKey) {
            try $0.bind(account).bind(key)
        } read: {
            RequestKeyRow(account: account, key: key, digest: $0.bytes(0), outcome: $0.bytes(1), at: $0.integer(2))
        }
    }

    package final func requestKeyTime(behind count: Int) throws -> Int64? {
        try row(.requestKeyTime, bind: { try $0.bind(limit: count) }, read: { $0.integer(0) })
    }
}

extension SQLTransaction {
    package func insert(_ request: RequestKeyRow) throws {
        try change(.insertRequestKey) {
            try $0.bind(request.account).bind(request.key).bind(request.digest).bind(request.outcome).bind(request.at)
        }
    }

    package func purgeRequestKeys(before time: Int64, limit: Int) throws -> Int {
        try change(.purgeRequestKeys) { try $0.bind(time).bind(limit: limit) }
    }
}
