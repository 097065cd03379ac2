// Versions of cached content. A store that one process writes has no versions, because that process invalidates its own
// caches.

extension StorageReader {
    /// Whether content that was cached at `version` is current. An engine with several writing processes may
    /// optimistically answer true, and reruns the body if the answer was wrong. An engine with a single writing process
    /// always answers true, because that process invalidates its own caches.
    package final func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        try attempt { try connection.isCurrent(version, of: content) }
    }

    /// The version of the content in this snapshot; meaningless if one process writes the store.
    package final func version(of content: SharedContent) throws -> Int64 {
        try attempt { try connection.version(of: content) }
    }

    /// The record types that gained subscribers after a version of `.subscribedTypes`, by owner. The result may contain
    /// other types too.
    package final func subscribedTypes(after version: Int64) throws -> [OwnerID: Set<String>] {
        guard let pairs = try attempt({ try connection.subscribedTypes(after: version) }) else {
            return try subscribedTypes()
        }
        return pairs.reduce(into: [:]) { types, pair in
            types[OwnerID(rawValue: pair.owner), default: []].insert(pair.recordType)
        }
    }

    final func attempt<T>(_ body: () throws -> T) throws -> T {
        if let failure { throw failure }
        do {
            return try body()
        } catch let error as StorageError {
            fail(error)
            throw error
        }
    }
}

extension StorageTransaction {
    /// Invalidates all caches of the schema and the indexes, in all processes. The transaction excludes all other
    /// writes.
    package func advanceCatalog() throws {
        try attempt { try connection.advanceCatalog() }
    }

    /// Marks the record type as subscribed; an empty type stands for all types. Idempotent. The transaction excludes
    /// all other writes.
    package func insertSubscribedType(_ recordType: String, owner: OwnerID) throws {
        try attempt { try connection.insertSubscribedType(recordType, owner: owner.rawValue) }
    }
}
