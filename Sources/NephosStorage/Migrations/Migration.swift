/// A numbered change of the tables. Once released it is never edited: stores exist that ran it.
package struct Migration: Sendable {
    /// 1 for the first; each next one is larger by 1.
    package var number: Int
    /// SQL whose words in braces the dialect supplies.
    package var script: String

    package init(number: Int, script: String) {
        self.number = number
        self.script = script
    }

    /// Every migration, in the order in which they run.
    package static let all: [Migration] = [.first, .second, .third, .fourth, .fifth, .sixth, .seventh, .eighth, .ninth]
}

extension SQLConnection {
    /// Brings the store to the last of `migrations`, each in a transaction of its own.
    /// - Throws: `StorageError` `.newerVersion` if the store has run more than these.
    package func migrate(_ migrations: [Migration]) throws {
        let version = try schemaVersion()
        let latest = migrations.last?.number ?? 0
        guard version <= latest else {
            throw StorageError(
                .newerVersion,
                "the store has version \(version), but this Nephos knows versions up to \(latest); run a newer Nephos")
        }
        for migration in migrations where migration.number > version {
            try begin(writing: true)
            do {
                try execute(Self.dialect.render(migration.script))
                try setSchemaVersion(migration.number)
                try commit()
            } catch {
                rollback()
                throw error
            }
        }
    }
}
