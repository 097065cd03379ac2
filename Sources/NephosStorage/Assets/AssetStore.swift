package import NephosThreads

/// The storage of a store's asset files: a directory, or object storage.
///
/// Everything but `openNow` blocks, so it is called on its `threads` only. It knows no rules: the rows record each
/// file's owner and how long it is needed.
package protocol AssetStore: AnyObject, Sendable {
    var threads: BlockingPool { get }
    /// Begins a file, invisible until it is published.
    func makeFile() throws -> any AssetFileWriter
    /// Opens a published file; nil if there is none of that name.
    func open(_ name: String) throws -> (any AssetFileReader)?
    /// Opens a published file without blocking, on any thread; nil also if it would block.
    func openNow(_ name: String) throws -> (any AssetFileReader)?
    /// Deletes a published file; does nothing if it does not exist.
    func remove(_ name: String) throws
    /// The names of published files after `name` (byte-wise), ordered by name.
    func files(after name: String, limit: Int) throws -> [String]
    /// The files whose publishing process ended before it settled them: they may lack a row and have to be looked up.
    /// Removes unfinished files.
    /// - Parameter seconds: the least age since the last write.
    func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover]
    /// Free bytes for files; nil if unlimited.
    func freeBytes() throws -> Int64?
    /// Prevents the removal of files until the result is released; nil if there are none yet.
    func holdFiles() throws -> RemovalLock?
    /// Locks the files for removal until the result is released; nil while they are held.
    func lockForRemoval() throws -> RemovalLock?
    /// Releases all resources. A store in memory loses its files.
    func close()
}

extension AssetStore {
    package var threads: BlockingPool { .disk }
    package func openNow(_ name: String) throws -> (any AssetFileReader)? { nil }
}

/// A file that is being written; discarded unless published. One thread at a time uses it.
package protocol AssetFileWriter: AnyObject, Sendable {
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Makes the written bytes durable under a name that no file had before. Only `settle` makes the file permanent: a
    /// process that ends between the two leaves an `AssetLeftover`.
    func publish(as name: String) throws
    /// Notes that the published file has its row.
    func settle() throws
    /// Removes the file, published or not, unless it is settled.
    func discard()
}

/// A published file. Several threads may read it concurrently.
package protocol AssetFileReader: AnyObject, Sendable {
    var size: Int64 { get }
    /// Reads bytes at an offset; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
    /// Reads bytes without waiting for the disk; nil if it would wait.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int?
}

/// A published file that its process did not settle before it ended.
package struct AssetLeftover: Sendable {
    package let name: String
    /// Settles the file, which has a row, or removes it.
    package let end: @Sendable (_ hasRow: Bool) throws -> Void

    package init(name: String, end: @escaping @Sendable (_ hasRow: Bool) throws -> Void) {
        self.name = name
        self.end = end
    }
}
