import CSQLite

/// The frames of a transaction on their way into the write-ahead log: SQLite writes each in two parts, and here they are
/// written together, at the latest with the one that commits.
///
/// Nobody else can tell: frames are looked at once the index names them, which is after the last was written; and whoever
/// writes them reads them back only through the same file, which writes first what is here. What cannot be written fails
/// with a later frame of the same transaction, or with what comes in between, and the transaction with it. Used by one
/// thread at a time, as its connection is.
final class LogBuffer {
    /// The header of a frame: the page's number, the size of the database where the frame commits, and what tells a whole
    /// frame (SQLite, Database File Format, 4.1).
    private static let headerSize = 24
    /// Bytes that are gathered at most: SQLite's own methods take no more at once (`os_unix.c`, `seekAndWriteFd`).
    private static let limit = 0x1FFFF

    /// `SQLITE_IOERR_WRITE`, which is no constant that Swift can read.
    fileprivate static let writeError = SQLITE_IOERR | 3 << 8

    private let memory: UnsafeMutableRawPointer
    private var count = 0
    /// Where the first byte belongs.
    private var offset: Int64 = 0
    /// Whether the page of the last header is to come, and whether that frame commits.
    private var awaitsPage = false
    private var commits = false
    /// Where the next frame begins; -1 until one was written.
    private var end: Int64 = -1
    /// Behind the last header.
    private var endOfHeader: Int64 = -1
    private var pageSize = 4096

    init() { memory = .allocate(byteCount: Self.limit, alignment: 4096) }

    deinit { memory.deallocate() }

    /// Has a connection's log be written through this; nil where it cannot. It must outlive the connection.
    func methods(for connection: OpaquePointer) -> FileMethods? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK else {
            return nil
        }
        return FileMethods(of: file, version: 1, context: self) { methods in
            methods.xWrite = { file, bytes, count, offset in
                LogBuffer.of(file) { $0.write(bytes, Int(count), offset, LogFile(file)) }
            }
            methods.xRead = { file, bytes, count, offset in
                LogBuffer.flushed(file) { $0.xRead(file, bytes, count, offset) }
            }
            methods.xSync = { file, flags in LogBuffer.flushed(file) { $0.xSync(file, flags) } }
            methods.xTruncate = { file, size in LogBuffer.flushed(file) { $0.xTruncate(file, size) } }
            methods.xFileSize = { file, size in LogBuffer.flushed(file) { $0.xFileSize(file, size) } }
        }
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (LogBuffer) -> Int32) -> Int32 {
        FileMethods.context(of: file, as: LogBuffer.self)?._withUnsafeGuaranteedRef(body) ?? SQLITE_IOERR
    }

    /// What the file's own method gives, after what is here was written.
    ///
    /// Where that fails it is `SQLITE_IOERR_WRITE`, whatever the reason: SQLite gives up the whole transaction then, and of
    /// one whose disk is full sometimes the statement alone, which would leave frames that are in no file.
    private static func flushed(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (sqlite3_io_methods) -> Int32
    ) -> Int32 {
        let code = of(file) { $0.finish(LogFile(file)) }
        guard code == SQLITE_OK, let original = FileMethods.original(of: file) else { return code }
        return body(original.pointee)
    }

    // MARK: Writing

    /// A part of the log as SQLite writes it: a frame's header, its page, or something else.
    func write(_ bytes: UnsafeRawPointer?, _ size: Int, _ place: Int64, _ file: some LogWriting) -> Int32 {
        guard let bytes else { return Self.writeError }
        if awaitsPage, place == offset + Int64(count), count + size <= Self.limit {
            return takePage(bytes, size, file)
        }
        if size == Self.headerSize, place == end { return takeHeader(bytes, place, file) }
        let code = flush(file)
        guard code == SQLITE_OK else { return code }
        // The first frame, one behind others that were given up, or a page that is too long.
        if size == Self.headerSize {
            endOfHeader = place + Int64(size)
        } else if place == endOfHeader || place == 0 {
            end = place + Int64(size)
        }
        return file.write(bytes, size, place)
    }

    /// Before anything but writing is done with the file.
    func finish(_ file: some LogWriting) -> Int32 {
        flush(file) == SQLITE_OK ? SQLITE_OK : Self.writeError
    }

    private func takeHeader(_ bytes: UnsafeRawPointer, _ place: Int64, _ file: some LogWriting) -> Int32 {
        if awaitsPage || count + Self.headerSize + pageSize > Self.limit {
            let code = flush(file)
            guard code == SQLITE_OK else { return code }
        }
        if count == 0 { offset = place }
        append(bytes, Self.headerSize)
        endOfHeader = place + Int64(Self.headerSize)
        awaitsPage = true
        commits = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0
        return SQLITE_OK
    }

    private func takePage(_ bytes: UnsafeRawPointer, _ size: Int, _ file: some LogWriting) -> Int32 {
        append(bytes, size)
        pageSize = size
        awaitsPage = false
        end = offset + Int64(count)
        return commits ? flush(file) : SQLITE_OK
    }

    private func append(_ bytes: UnsafeRawPointer, _ size: Int) {
        (memory + count).copyMemory(from: bytes, byteCount: size)
        count += size
    }

    /// Writes what is here. Where that fails it is given up, as the transaction is.
    private func flush(_ file: some LogWriting) -> Int32 {
        guard count > 0 else { return SQLITE_OK }
        defer {
            count = 0
            awaitsPage = false
        }
        let code = file.write(UnsafeRawPointer(memory), count, offset)
        if code != SQLITE_OK { end = -1 }
        return code
    }
}

/// What a log is written to.
protocol LogWriting {
    func write(_ bytes: UnsafeRawPointer, _ size: Int, _ offset: Int64) -> Int32
}

/// The log's file, by its own methods.
private struct LogFile: LogWriting {
    let file: UnsafeMutablePointer<sqlite3_file>?

    init(_ file: UnsafeMutablePointer<sqlite3_file>?) { self.file = file }

    func write(_ bytes: UnsafeRawPointer, _ size: Int, _ offset: Int64) -> Int32 {
        FileMethods.original(of: file)?.pointee.xWrite(file, bytes, Int32(size), offset) ?? LogBuffer.writeError
    }
}
