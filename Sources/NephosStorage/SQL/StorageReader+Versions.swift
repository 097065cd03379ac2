// Versions of what a service caches. Where one process writes the store it announces changes to itself, and there are none.

extension StorageReader {
    /// Whether what was cached at a version is what the store has. An engine whose store several processes write may
    /// answer true before it knows, and runs the body again where that was wrong; one whose store has one writer, which
    /// announces its changes itself, always does.
    package final func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        try attempt { try connection.isCurrent(version, of: content) }
    }

    /// The version in this snapshot; no number of any meaning where the store has one writer.
    package final func version(of content: SharedContent) throws -> Int64 {
        try attempt { try connection.version(of: content) }
    }

    /// Those that became so after a version of `.subscribedTypes`, and maybe others.
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
    /// Makes what is cached of the schema and the indexes stale everywhere. The transaction runs alone.
    package func advanceCatalog() throws {
        try attempt { try connection.advanceCatalog() }
    }

    /// Makes the record type one that has subscribers, if it is not: an empty one stands for all. The transaction runs
    /// alone.
    package func insertSubscribedType(_ recordType: String, owner: OwnerID) throws {
        try attempt { try connection.insertSubscribedType(recordType, owner: owner.rawValue) }
    }
}
