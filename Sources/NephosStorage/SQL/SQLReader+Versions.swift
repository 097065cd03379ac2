// Versions of what a service caches. Where one process writes the store it announces changes to itself, and there are none.

extension SQLReader {
    package final func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        try attempt { try connection.isCurrent(version, of: content) }
    }

    package final func version(of content: SharedContent) throws -> Int64 {
        try attempt { try connection.version(of: content) }
    }

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

extension SQLTransaction {
    package func advanceCatalog() throws {
        try attempt { try connection.advanceCatalog() }
    }

    package func insertSubscribedType(_ recordType: String, owner: OwnerID) throws {
        try attempt { try connection.insertSubscribedType(recordType, owner: owner.rawValue) }
    }
}
