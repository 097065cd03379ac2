package import NephosThreads

/// Where the files of a store's assets are: a directory, or object storage.
///
/// Everything but `openNow` blocks, so it is called on its `threads` only. It knows no rule: which file is of whom, and needed for how
/// long, is in the rows.
package protocol AssetStore: AnyObject, Sendable {
    var threads: BlockingPool { get }
    /// Begins a file that is not visible before it is published.
    func makeFile() throws -> any AssetFileWriter
    /// Opens a published file; nil where there is none of that name.
    func open(_ name: String) throws -> (any AssetFileReader)?
    /// The same without waiting, on any thread; nil also where it would have to.
    func openNow(_ name: String) throws -> (any AssetFileReader)?
    /// Deletes a published file; one that is not there is deleted.
    func remove(_ name: String) throws
    /// The names of published files behind `name` (byte-wise), ordered by name.
    func files(after name: String, limit: Int) throws -> [String]
    /// What a process that ended left of publishing: files that may be without a row, and have to be looked up.
    /// Unfinished files are removed.
    /// - Parameter seconds: the least since it was written last.
    func leftovers(olderThan seconds: Int64) throws -> [AssetLeftover]
    /// Bytes that are free where the files are; nil where there is no end to them.
    func freeBytes() throws -> Int64?
    /// Keeps the files from being removed until the result goes; nil where there are none yet.
    func holdFiles() throws -> RemovalLock?
    /// Has files removed until the result goes; nil where they are held.
    func lockForRemoval() throws -> RemovalLock?
    /// Lets go of everything. A store in memory is gone then.
    func close()
}

extension AssetStore {
    package var threads: BlockingPool { .disk }
    package func openNow(_ name: String) throws -> (any AssetFileReader)? { nil }
}

/// A file that is being written. It is gone unless it is published. One thread at a time uses it.
package protocol AssetFileWriter: AnyObject, Sendable {
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Makes what was written durable under that name, which no file had before. Not before `settle` is it certain to
    /// stay: a process that ends between the two leaves an `AssetLeftover`.
    func publish(as name: String) throws
    /// Says that the published file has its row.
    func settle() throws
    /// Removes the file, published or not, unless it was settled.
    func discard()
}

/// A published file. Several threads may read it.
package protocol AssetFileReader: AnyObject, Sendable {
    var size: Int64 { get }
    /// Reads bytes at an offset; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int
    /// The same without waiting for the disk; nil where it would have to.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int?
}

/// A file that was published by a process which ended before it settled it.
package struct AssetLeftover: Sendable {
    package let name: String
    /// Settles the file, which has a row, or removes it.
    package let end: @Sendable (_ hasRow: Bool) throws -> Void

    package init(name: String, end: @escaping @Sendable (_ hasRow: Bool) throws -> Void) {
        self.name = name
        self.end = end
    }
}
