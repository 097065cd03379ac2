/// A change of the tables. A released migration is never edited, because existing stores have run it.
package struct Migration: Equatable, Sendable {
    /// The SQL script, in which the dialect replaces the words in braces.
    package var script: String
    /// Statements `CREATE INDEX …` that run after the script. PostgreSQL builds these indexes while others write
    /// (`CONCURRENTLY`), because its tables are everybody's.
    package var indexes: [String]
    /// Whether servers that do not know the migration must stop using the store. A migration that only adds tables,
    /// columns or indexes is not breaking: servers of both versions use the store during a rolling upgrade.
    package var isBreaking: Bool

    package init(script: String, indexes: [String] = [], isBreaking: Bool = false) {
        self.script = script
        self.indexes = indexes
        self.isBreaking = isBreaking
    }

    /// Combines several migrations into one.
    init(_ parts: [Migration]) {
        script = parts.map(\.script).joined(separator: "\n")
        indexes = parts.flatMap(\.indexes)
        isBreaking = parts.contains(where: \.isBreaking)
    }

    /// Every migration, in order. The first one creates all tables of a new store.
    package static let all = [
        Migration([
            .tables, .storeSecret, .changeEvents, .assets, .shareUpkeep, .keys, .lostSequences, .requestKeys,
        ]),
        .liveSharedRecords, .installation,
    ]
}

extension [Migration] {
    /// The version of a store that has run these migrations: a hash of their text. So a store with other tables is
    /// detected whatever its version. The hash has 31 bits and is above 0, the version of a new store.
    package var version: Int {
        guard !isEmpty else { return 0 }
        let text = map { ([$0.script] + $0.indexes).joined(separator: "\n") }.joined(separator: "\u{0}")
        return Int(Checksum([UInt8](text.utf8)).value & 0x7fff_ffff) | 0x4000_0000
    }

    /// The version of the oldest Nephos that may use a store that has run these migrations.
    package var oldestVersion: Int { Array(self[...(lastIndex(where: \.isBreaking) ?? 0)]).version }

    /// Whether this process may use a store that has run these migrations and later ones: it may if these migrations
    /// include the store's oldest version.
    package func mayUse(storeOpenTo oldest: Int) -> Bool { indices.contains { Array(self[...$0]).version == oldest } }

    /// The number of these migrations that a store of `version` has run: at least one.
    /// - Throws: `StorageError` `.otherVersion` if no prefix of these migrations has that version.
    package func ranCount(ofStore version: Int) throws -> Int {
        let known = indices.map { Array(self[...$0]).version }
        guard let index = known.lastIndex(of: version) else {
            throw StorageError(
                .otherVersion,
                """
                its tables are those of another version of Nephos, a newer one or one before 0.1 (their identifier \(version) is \
                none of the \(known.count) that this version knows); open it with the version that wrote it
                """)
        }
        return index + 1
    }
}

extension QueuedConnection {
    /// Migrates the store to the last of `migrations`. Each migration runs in its own transaction.
    /// - Parameter beforeBreaking: called before the first migration, if the store has tables and any of the migrations is
    ///   breaking, with the version that the first such migration makes. If it throws, the store is unchanged.
    /// - Throws: `StorageError` `.otherVersion` if no prefix of `migrations` created the store's tables.
    package func migrate(_ migrations: [Migration], beforeBreaking: (_ version: Int) throws -> Void = { _ in }) throws {
        let present = try schemaVersion()
        let first = present == 0 ? 0 : try migrations.ranCount(ofStore: present)
        let breaking = migrations.indices.dropFirst(first).first { migrations[$0].isBreaking }
        if let breaking, present != 0 { try beforeBreaking(Array(migrations[...breaking]).version) }
        for (index, migration) in migrations.enumerated().dropFirst(first) {
            try begin(writing: true)
            do {
                try execute(Self.dialect.render(([migration.script] + migration.indexes).joined(separator: ";\n")))
                try setSchemaVersion(Array(migrations.prefix(index + 1)).version)
                try commit()
            } catch {
                rollback()
                throw error
            }
        }
    }
}
