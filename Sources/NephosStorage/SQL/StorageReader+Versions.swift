// Versions of cached content. If one process writes the store, it invalidates its caches itself, and there are none.

extension StorageReader {
    /// Whether content cached at a version is current. An engine with several writing processes may optimistically
    /// answer true, and reruns the body if that was wrong; one with a single writer, which invalidates its own caches,
    /// always answers true.
    package final func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        try attempt { try connection.isCurrent(version, of: content) }
    }

    /// The version in this snapshot; meaningless if the store has one writer.
    package final func version(of content: SharedContent) throws -> Int64 {
        try attempt { try connection.version(of: content) }
    }

    /// The types that gained subscribers after a version of `.subscribedTypes`, and possibly others.
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
    /// Invalidates all caches of the schema and the indexes, in all processes. The transaction runs alone.
    package func advanceCatalog() throws {
        try attempt { try connection.advanceCatalog() }
    }

    /// Marks the record type as subscribed; an empty one stands for all. Idempotent. The transaction runs alone.
    package func insertSubscribedType(_ recordType: String, owner: OwnerID) throws {
        try attempt { try connection.insertSubscribedType(recordType, owner: owner.rawValue) }
    }
}
