import NephosStorage

/// The versions of what a transaction used that the server has cached, and those that the store has.
///
/// What is cached is used before the transaction's first statement, and so before its lock: then the version that it was
/// cached at is compared with the one that comes with the first answer, and where it differs the transaction begins again.
struct ContentVersions {
    private var used: [SharedContent: Int64] = [:]
    /// Whether a content was used at two versions, such as accounts and the schema of the catalogue: one of them is stale.
    private var areMixed = false
    private var stored: [Int64]?
    /// Whether nothing may be used before the store's version is known.
    let isExact: Bool

    init(isExact: Bool = false) { self.isExact = isExact }

    /// Whether something was used that is not compared yet.
    var areWanted: Bool { stored == nil && (isExact || !used.isEmpty) }

    var areStale: Bool {
        guard let stored else { return false }
        return areMixed || used.contains { content, version in stored[content.rawValue] != version }
    }

    subscript(content: SharedContent) -> Int64? { stored?[content.rawValue] }

    mutating func use(_ content: SharedContent, at version: Int64) {
        if let other = used.updateValue(version, forKey: content), other != version { areMixed = true }
    }

    /// - Parameter column: the first version's.
    mutating func learn(_ result: PostgresLink.Result, from column: Int) {
        stored = SharedContent.allCases.indices.map { PostgresStatement.integer(result, 0, column + $0) }
    }
}

extension PostgresConnection {
    /// Compares what was used with what the store has, where that did not happen yet.
    func checkVersions() throws {
        if isInTransaction && !isBroken && versions.areWanted { _ = try perform([]) }
    }

    func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        if versions.isExact { try checkVersions() }
        if let stored = versions[content] { return stored == version }
        versions.use(content, at: version)
        return true
    }

    func version(of content: SharedContent) throws -> Int64 {
        if let version = versions[content] { return version }
        // A write gets them with what begins it.
        if isWriting {
            _ = try takeFirstSequence()
        } else {
            let result = try perform([query("versions", PostgresSQL.versions, needsStore: true)]).last
            if let result { try learnVersions(result, from: 0) }
        }
        guard let version = versions[content] else { throw StorageError(.other, "the store has no versions") }
        return version
    }

    func advanceCatalog() throws {
        try runAlone()
        try enqueue(query("advance", PostgresSQL.advanceCatalog, needsStore: true))
    }

    func insertSubscribedType(_ recordType: String, owner: Int64) throws {
        try runAlone()
        var parameters = PostgresLink.Parameters()
        parameters.add(store.key(owner))
        parameters.add(text: recordType.utf8)
        try enqueue(query("subscribed", PostgresSQL.insertSubscribedType, parameters, needsStore: true))
    }

    func subscribedTypes(after version: Int64) throws -> [(owner: Int64, recordType: String)]? {
        var parameters = PostgresLink.Parameters()
        parameters.add(version)
        guard let result = try perform([query("types", PostgresSQL.subscribedTypes, parameters, needsStore: true)]).last
        else {
            return []
        }
        return (0..<result.rows).map { row in
            let recordType = String(decoding: PostgresStatement.bytes(result, row, 1), as: UTF8.self)
            return (store.number(PostgresStatement.integer(result, row, 0)), recordType)
        }
    }
}
