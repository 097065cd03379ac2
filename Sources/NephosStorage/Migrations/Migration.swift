/// A change of the tables. Once released it is never edited: stores exist that ran it.
package struct Migration: Sendable {
    /// SQL whose words in braces the dialect supplies.
    package var script: String
    /// Whether servers that do not know it may not use the store any more. One that only adds does not: servers of both
    /// versions use the store while they are upgraded one after another.
    package var isBreaking: Bool

    package init(script: String, isBreaking: Bool = false) {
        self.script = script
        self.isBreaking = isBreaking
    }

    /// Several that run as one.
    init(_ parts: [Migration]) {
        script = parts.map(\.script).joined(separator: "\n")
        isBreaking = parts.contains(where: \.isBreaking)
    }

    /// Every migration, in the order in which they run. The first makes all tables of a new store.
    package static let all = [
        Migration([
            .tables, .storeSecret, .changeEvents, .assets, .shareUpkeep, .keys, .lostSequences, .requestKeys,
        ]),
        .liveSharedRecords,
    ]
}

extension [Migration] {
    /// What a store is marked with that ran these: a number made of their text, so that a store whose tables are others is
    /// told apart whatever its version was called. Above 0, which a new store has, and in 31 bits.
    package var version: Int {
        guard !isEmpty else { return 0 }
        let text = map(\.script).joined(separator: "\u{0}")
        return Int(Checksum([UInt8](text.utf8)).value & 0x7fff_ffff) | 0x4000_0000
    }

    /// The mark of the oldest version that may use a store that ran these.
    package var oldestVersion: Int { Array(self[...(lastIndex(where: \.isBreaking) ?? 0)]).version }

    /// Whether a store that ran these, and others that came later, may be used: its mark of the oldest version is known.
    package func mayUse(storeOpenTo oldest: Int) -> Bool { indices.contains { Array(self[...$0]).version == oldest } }

    /// How many of these a store with the mark has run: one at least.
    /// - Throws: `StorageError` `.otherVersion` where its tables are not what some of these make.
    package func ranCount(ofStore version: Int) throws -> Int {
        let known = indices.map { Array(self[...$0]).version }
        guard let index = known.lastIndex(of: version) else {
            throw StorageError(
                .otherVersion,
                """
                its tables are those of another version of Nephos (\(version)), and this one knows only \
                \(known.map(String.init).joined(separator: ", ")); open it with the version that wrote it
                """)
        }
        return index + 1
    }
}

extension SQLConnection {
    /// Brings the store to the last of `migrations`, each in a transaction of its own.
    /// - Throws: `StorageError` `.otherVersion` if the store's tables are not what some of these make.
    package func migrate(_ migrations: [Migration]) throws {
        let version = try schemaVersion()
        let first = version == 0 ? 0 : try migrations.ranCount(ofStore: version)
        for (index, migration) in migrations.enumerated().dropFirst(first) {
            try begin(writing: true)
            do {
                try execute(Self.dialect.render(migration.script))
                try setSchemaVersion(Array(migrations.prefix(index + 1)).version)
                try commit()
            } catch {
                rollback()
                throw error
            }
        }
    }
}
