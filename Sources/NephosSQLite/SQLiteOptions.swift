package import NephosStorage

/// The configuration of SQLite stores.
package struct SQLiteOptions: Sendable {
    package enum Durability: Sendable, CaseIterable {
        /// A commit is answered only after it is durable (`synchronous=FULL`).
        case full
        /// The last commits may be lost in a power failure, but never in a crash of the process (`synchronous=NORMAL`).
        case normal
    }

    package var durability: Durability
    /// The maximum number of concurrent reads: each has a connection, opened on demand.
    package var readers: Int
    /// The page cache of the writer's connection, and of each reader's, in KiB.
    package var writerCache: Int
    package var readerCache: Int
    /// Bytes of a file, from its beginning, that each reader memory-maps instead of reading them (`PRAGMA mmap_size`);
    /// 0 for none. Mapped pages count as the process's resident set, once for all readers. A disk that fails under a
    /// mapping ends the process (SIGBUS).
    package var mapped: Int
    /// Pages in the write-ahead log that trigger a checkpoint.
    package var checkpointPages: Int
    /// The idle time before a log of that many pages is checkpointed. A shorter log costs readers little, and resetting
    /// it costs the next commit an fsync.
    package var idleNanoseconds: Int64
    package var idlePages: Int
    /// Receives log lines for the operator about damaged records.
    package var log: @Sendable (String) -> Void
    /// The migrations; a test supplies its own.
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
