package import NephosStorage

/// How SQLite stores are kept.
package struct SQLiteOptions: Sendable {
    package enum Durability: Sendable, CaseIterable {
        /// An answer never precedes the disk (`synchronous=FULL`).
        case full
        /// The last commits may be lost when the machine loses power, never when the process dies
        /// (`synchronous=NORMAL`).
        case normal
    }

    package var durability: Durability
    /// The largest number of threads that read at the same time; they start as they are needed.
    package var readers: Int
    /// Memory for pages of the writer's connection, and of each reader's, in KiB.
    package var writerCache: Int
    package var readerCache: Int
    /// How many bytes of a file, from its beginning, readers look at in the system's cache instead of reading them; 0 is
    /// none.
    package var mapped: Int
    /// How many bytes of these may count as the process's memory.
    package var resident: Int
    /// The size of a file, in bytes, from which records are fetched ahead into the processor's caches: a smaller file is
    /// in them already, and fetching costs instructions.
    package var aheadFrom: Int
    /// Pages in the write-ahead log after which they are moved into the database.
    package var checkpointPages: Int
    /// How long nobody writes before a log of so many pages is moved. A shorter one costs readers little, and to begin it
    /// anew costs the next commit a synchronisation.
    package var quietNanoseconds: Int64
    package var quietPages: Int
    /// Whether the thread that writes takes no processor from those who wake it. Threads that are started from it are
    /// scheduled so too: the one that moves the log, and such of Swift's pool, which is not for an app's process.
    package var writerYields: Bool
    /// The tables' history; a test gives its own.
    package var migrations: [Migration]

    package init(
        durability: Durability = .full, readers: Int = 3, writerCache: Int = 8192, readerCache: Int = 8192,
        mapped: Int = 16 << 30, resident: Int = 64 << 20, aheadFrom: Int = 32 << 20, checkpointPages: Int = 4000,
        quietNanoseconds: Int64 = 200_000_000, quietPages: Int = 256, writerYields: Bool = true,
        migrations: [Migration] = Migration.all
    ) {
        self.durability = durability
        self.readers = readers
        self.writerCache = writerCache
        self.readerCache = readerCache
        self.mapped = mapped
        self.resident = resident
        self.aheadFrom = aheadFrom
        self.checkpointPages = checkpointPages
        self.quietNanoseconds = quietNanoseconds
        self.quietPages = quietPages
        self.writerYields = writerYields
        self.migrations = migrations
    }
}
