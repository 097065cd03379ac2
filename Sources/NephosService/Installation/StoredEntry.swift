import FoundationEssentials
import NephosStorage

/// A value that an entry of the installation's store has as JSON.
protocol StoredEntry: Codable, Sendable {
    static var kind: InstallationEntry.Kind { get }
}

extension StoredEntry {
    static func decoded(_ entry: InstallationEntry) throws -> Self {
        do {
            return try JSONDecoder().decode(Self.self, from: Data(entry.body))
        } catch {
            throw StorageError(
                .damaged, "the installation's entry '\(entry.name)' of kind \(kind) cannot be read: \(error)")
        }
    }

    func encoded(named name: String, expiresAt: Int64 = 0) throws -> InstallationEntry {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return InstallationEntry(
            kind: Self.kind, name: name, body: [UInt8](try encoder.encode(self)), expiresAt: expiresAt)
    }
}

extension StorageReader {
    /// The value of an entry; nil if there is none.
    func entry<Value: StoredEntry>(_ type: Value.Type, _ name: String) throws -> Value? {
        try installationEntry(Value.kind, name).map(Value.decoded)
    }

    /// The names and values of all entries whose names begin with `prefix`.
    func entries<Value: StoredEntry>(_ type: Value.Type, prefix: String = "") throws -> [(name: String, value: Value)] {
        var found: [(name: String, value: Value)] = []
        // The first name is after the prefix without its last byte's successor: an entry with the prefix as its whole
        // name is none of the kinds' names.
        var last = prefix
        while true {
            let page = try installationEntries(Value.kind, after: last, limit: Limits.entriesPerRead)
            let matching = page.prefix { $0.name.utf8.starts(with: prefix.utf8) }
            for entry in matching { found.append((entry.name, try Value.decoded(entry))) }
            guard matching.count == Limits.entriesPerRead, let name = page.last?.name else { return found }
            last = name
        }
    }
}

extension StorageTransaction {
    func put<Value: StoredEntry>(_ value: Value, _ name: String, expiresAt: Int64 = 0) throws {
        try put(try value.encoded(named: name, expiresAt: expiresAt))
    }
}
