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
    /// The largest number of reads at the same time: each has a connection, which is opened when it is needed.
    package var readers: Int
    /// Memory for pages of the writer's connection, and of each reader's, in KiB.
    package var writerCache: Int
    package var readerCache: Int
    /// How many bytes of a file, from its beginning, each reader maps into memory instead of reading them
    /// (`PRAGMA mmap_size`); 0 is none. What is mapped counts as the process's memory, once for all readers. A disk that
    /// fails under a mapping ends the process.
    package var mapped: Int
    /// Pages in the write-ahead log after which they are checkpointed.
    package var checkpointPages: Int
    /// How long the store is idle before a log of so many pages is checkpointed. A shorter one costs readers little, and to begin it
    /// anew costs the next commit a synchronisation.
    package var idleNanoseconds: Int64
    package var idlePages: Int
    /// Takes log lines for the operator: which records are damaged.
    package var log: @Sendable (String) -> Void
    /// The tables' history; a test gives its own.
    package var migrations: [Migration]

    package init(
        durability: Durability = .full, readers: Int = 4, writerCache: Int = 8192, readerCache: Int = 2048,
        mapped: Int = 32 << 20, checkpointPages: Int = 4000,
        idleNanoseconds: Int64 = 200_000_000, idlePages: Int = 256,
        log: @escaping @Sendable (String) -> Void = { _ in }, migrations: [Migration] = Migration.all
    ) {
        self.durability = durability
        self.readers = readers
        self.writerCache = writerCache
        self.readerCache = readerCache
        self.mapped = mapped
        self.checkpointPages = checkpointPages
        self.idleNanoseconds = idleNanoseconds
        self.idlePages = idlePages
        self.log = log
        self.migrations = migrations
    }
}
