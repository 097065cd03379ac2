package import NephosStorage

/// The configuration of SQLite stores.
package struct SQLiteOptions: Sendable {
    package enum Durability: Sendable, CaseIterable {
        /// A commit is answered only once it is durable (`synchronous=FULL`).
        case full
        /// A power failure may lose the last commits, but a crash of the process does not (`synchronous=NORMAL`).
        case normal
    }

    package var durability: Durability
    /// The maximum number of concurrent reads per store. Each read has a connection, which is opened on demand.
    package var readers: Int
    /// The size of the page cache of the writer's connection in KiB. The next property is that of each reader's
    /// connection.
    package var writerCache: Int
    package var readerCache: Int
    /// The maximum number of bytes per store that each reader memory-maps from the beginning of the file instead of
    /// reading them (`PRAGMA mmap_size`); 0 for none. Mapped pages count towards the resident set of the process, once
    /// for all readers. If the disk fails under a mapping, the process ends (SIGBUS).
    package var mapped: Int
    /// The number of pages in the write-ahead log that triggers a checkpoint.
    package var checkpointPages: Int
    /// The idle time in nanoseconds after which a log is checkpointed, if it has at least the number of pages in the
    /// next property. A shorter log costs readers little, and resetting it costs the next commit an fsync.
    package var idleNanoseconds: Int64
    package var idlePages: Int
    /// Receives log lines about damaged records, for the operator.
    package var log: @Sendable (String) -> Void
    /// The migrations of the stores. Tests supply their own.
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
