import CSQLite

/// What one connection sees of a file in memory. It is used by one thread at a time, as the connection is.
final class FileView {
    let mapping: FileMapping
    /// The leaf of an index, and the page of a table that has pages below, that SQLite asked for last since these were
    /// set to nil.
    var indexLeaf: UnsafeRawPointer?
    var tableInterior: UnsafeRawPointer?
    /// Bytes of a page; 0 until one was asked for.
    var pageSize = 0

    init(_ mapping: FileMapping) { self.mapping = mapping }

    /// Has SQLite use this for the main file of a connection that was just opened; nil where it cannot. The view must
    /// outlive the connection.
    func methods(for connection: OpaquePointer) -> FileMethods? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK else {
            return nil
        }
        return FileMethods(of: file, version: 3, context: self) { methods in
            methods.xFetch = { FileView.fetch($0, $1, $2, $3) }
            methods.xUnfetch = { _, _, _ in SQLITE_OK }
            // SQLite is not to map the file besides.
            methods.xFileControl = { file, code, argument in
                guard code != SQLITE_FCNTL_MMAP_SIZE else { return SQLITE_OK }
                return FileMethods.original(of: file)?.pointee.xFileControl(file, code, argument) ?? SQLITE_NOTFOUND
            }
        }
    }

    private static func fetch(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ offset: Int64, _ count: Int32,
        _ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        place?.pointee = FileMethods.context(of: file, as: FileView.self)?._withUnsafeGuaranteedRef { view in
            let bytes = view.mapping.bytes(at: Int(offset), count: Int(count)) {
                var size: Int64 = 0
                guard FileMethods.original(of: file)?.pointee.xFileSize(file, &size) == SQLITE_OK else { return nil }
                return Int(size)
            }
            guard let bytes else {
                // It may be such a page, and is not looked at.
                view.tableInterior = nil
                return nil
            }
            view.pageSize = Int(count)
            switch TreePage(bytes: bytes, size: Int(count)).kind {
            case .tableInterior: view.tableInterior = UnsafeRawPointer(bytes)
            case .indexLeaf: view.indexLeaf = UnsafeRawPointer(bytes)
            default: break
            }
            return bytes
        }
        return SQLITE_OK
    }
}
