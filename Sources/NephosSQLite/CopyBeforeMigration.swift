import Glibc
import NephosStorage

/// The copy of a store's file before a breaking migration, and before those that run with it: `NAME.before-VERSION` beside
/// the file, where VERSION is the version that the breaking migration makes. The Nephos that wrote the file can restore
/// it: in place of the file it would lose changes on devices, as it is no new incarnation. No
/// command lists it or removes it.
///
/// A migration that is retried replaces a copy of the store's own version, because that Nephos may have written since. A copy
/// of an earlier version stays: the store has run migrations since, and no Nephos of that version has opened it.
enum CopyBeforeMigration {
    static func path(ofStore path: String, before version: Int) -> String { "\(path).before-\(version)" }

    /// Copies the store that `source` has open.
    /// - Parameter maximumPages: the number of pages that fit on the disk of a test.
    /// - Throws: `StorageError` `.inputOutput`, such as on a full disk. Then there is no copy but an earlier one.
    static func make(
        of source: Connection, at path: String, before version: Int, maximumPages: Int? = nil,
        _ log: (String) -> Void
    ) throws {
        let target = self.path(ofStore: path, before: version)
        let draft = "\(target).new"
        if let copied = self.version(ofCopy: target), try copied != source.schemaVersion() { return }
        do {
            try write(source, to: draft, maximumPages)
            guard rename(draft, target) == 0 else { throw StorageError(system: errno, while: "renaming \(draft)") }
            try FileSystem.synchronizeParent(of: target)
        } catch let error as StorageError {
            try? removeDraft(draft)
            throw StorageError(
                error.code,
                """
                a migration to version \(version) needs a copy of the file first, \(target), for which about \
                \(FileSystem.size(path) >> 20) MiB have to be free: \(error.message). Nothing was changed
                """)
        }
        log(
            """
            \(target) is a copy of the store before a migration that earlier versions of Nephos cannot read; \
            'nephos restore' of an earlier version goes back to it, not a mere move; delete it when you no longer want to \
            go back
            """)
    }

    /// Nil for a copy that is missing or damaged.
    private static func version(ofCopy path: String) -> Int? {
        guard FileSystem.exists(path), let copy = try? Connection(path: path, access: .reading) else { return nil }
        defer { copy.close() }
        return try? copy.schemaVersion()
    }

    /// Copies into one file without a write-ahead log that only its owner may access, and makes the file's content
    /// durable.
    private static func write(_ source: Connection, to draft: String, _ maximumPages: Int?) throws {
        try removeDraft(draft)
        let descriptor = FileSystem.open(draft, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "creating \(draft)") }
        defer { close(descriptor) }
        do {
            let copy = try Connection(path: draft, access: .writing)
            defer { copy.close() }
            if let maximumPages { try copy.execute("PRAGMA max_page_count = \(maximumPages)") }
            try source.copy(to: copy)
            try copy.execute("PRAGMA journal_mode = DELETE")
        }
        guard fsync(descriptor) == 0 else { throw StorageError(system: errno, while: "synchronizing \(draft)") }
    }

    private static func removeDraft(_ draft: String) throws {
        for leftover in ["", "-journal", "-wal", "-shm"] where FileSystem.exists(draft + leftover) {
            guard unlink(draft + leftover) == 0 else { throw StorageError(system: errno, while: "removing \(draft)") }
        }
    }
}
