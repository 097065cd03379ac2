package import NephosThreads

/// The storage of a store's asset files: a directory, or object storage.
///
/// Every method except `openNow` blocks, so callers run it on `threads`. The storage applies no rules: the rows record
/// the owner of each file and how long the file is needed.
package protocol AssetStore: AnyObject, Sendable {
    var threads: BlockingPool { get }
    /// Creates a file that is invisible until it is published.
    func makeFile() throws -> any AssetFileWriter
    /// Opens a published file; nil if no file has that name.
    func open(_ name: String) throws -> (any AssetFileReader)?
    /// Opens a published file on any thread, without blocking; nil if no file has that name, or if opening it would
    /// block.
    func openNow(_ name: String) throws -> (any AssetFileReader)?
    /// Deletes a published file. Does nothing if the file does not exist.
    func remove(_ name: String) throws
    /// The names of the published files after `name`, in byte order: at most `limit`.
    func files(after name: String, limit: Int) throws -> [String]
    /// The published files of processes that ended before they settled them. Such a file may lack a row, so the caller
    /// has to look up its row. Removes unpublished files.
    /// - Parameter seconds: the minimum age of a file in seconds, since its last write.
    func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover]
    /// The number of free bytes for files; nil if the space is unlimited.
    func freeBytes() throws -> Int64?
    /// Prevents the removal of files until the result is released; nil if the storage holds no file yet.
    func holdFiles() throws -> RemovalLock?
    /// Takes the lock that the removal of files requires, until the result is released; nil while a caller of
    /// `holdFiles()` holds the files.
    func lockForRemoval() throws -> RemovalLock?
    /// Releases all resources. A storage in memory loses its files.
    func close()
}

extension AssetStore {
    package var threads: BlockingPool { .disk }
    package func openNow(_ name: String) throws -> (any AssetFileReader)? { nil }
}

/// An unpublished file that is being written; it is discarded unless it is published. One thread at a time uses it.
package protocol AssetFileWriter: AnyObject, Sendable {
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Makes the written bytes durable and publishes the file under `name`, which no file had before. Only `settle`
    /// makes the file permanent: a process that ends between the two calls leaves an `AssetLeftover`.
    func publish(as name: String) throws
    /// Records that the published file has a row.
    func settle() throws
    /// Removes the file, whether or not it is published, unless it is settled.
    func discard()
}

/// A published file that is open for reading. Several threads may read it concurrently.
package protocol AssetFileReader: AnyObject, Sendable {
    var size: Int64 { get }
    /// Reads bytes at an offset. Returns the number of bytes; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
    /// Reads bytes at an offset without blocking on the disk; nil if the read would block.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int?
}

/// A published file whose process ended before it settled the file.
package struct AssetLeftover: Sendable {
    package let name: String
    /// Settles the file if it has a row; otherwise removes it.
    package let end: @Sendable (_ hasRow: Bool) throws -> Void

    package init(name: String, end: @escaping @Sendable (_ hasRow: Bool) throws -> Void) {
        self.name = name
        self.end = end
    }
}
