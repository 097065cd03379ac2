import CSQLite
import NephosStorage

/// A prepared statement.
final class Statement: SQLStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    private let meter: ReadMeter
    private var bound: Int32 = 0

    /// Prepares `text` for repeated use.
    init(_ text: String, database: OpaquePointer, _ meter: ReadMeter) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw StorageError(sqlite: code, message: String(cString: sqlite3_errmsg(database)), while: text)
        }
        self.handle = handle
        self.database = database
        self.meter = meter
        for index in 1..<max(1, sqlite3_bind_parameter_count(handle) + 1) {
            assert(String(cString: sqlite3_bind_parameter_name(handle, index)) == "$\(index)", "order of \(text)")
        }
    }

    func finalize() {
        sqlite3_finalize(handle)
    }

    /// Ends a running execution. The next `bind` then binds `$1`.
    func reset() {
        sqlite3_reset(handle)
        bound = 0
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw error(code) }
    }

    private func error(_ code: Int32) -> StorageError {
        let text = sqlite3_sql(handle).map { String(cString: $0) } ?? ""
        return StorageError(sqlite: code, message: String(cString: sqlite3_errmsg(database)), while: text)
    }

    // MARK: Parameters

    @discardableResult func bind(_ value: Int64) throws -> Statement {
        bound += 1
        try check(sqlite3_bind_int64(handle, bound, value))
        return self
    }

    @discardableResult func bind(_ value: String?) throws -> Statement {
        bound += 1
        guard let value else {
            try check(sqlite3_bind_null(handle, bound))
            return self
        }
        // Rejects a NUL on every engine, because some databases end a text there.
        if !value.isStorable { throw StorageError.unstorable }
        let code = value.utf8.withContiguousStorageIfAvailable { bytes in
            nephos_sqlite3_bind_text(handle, bound, bytes.baseAddress, Int32(clamping: bytes.count))
        }
        try check(code ?? bindText(Array(value.utf8)))
        return self
    }

    private func bindText(_ bytes: [UInt8]) -> Int32 {
        bytes.withUnsafeBytes { nephos_sqlite3_bind_text(handle, bound, $0.baseAddress, Int32(clamping: $0.count)) }
    }

    /// Binds the values as a JSON array, which `json_each` expands.
    @discardableResult func bind(_ values: [String]) throws -> Statement {
        bound += 1
        var text: [UInt8] = [UInt8(ascii: "[")]
        for (index, value) in values.enumerated() {
            if !value.isStorable { throw StorageError.unstorable }
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(UInt8(ascii: "\""))
            for byte in value.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
                case ..<0x20: text += Array(Self.escapes[Int(byte)].utf8)
                default: text.append(byte)
                }
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "]"))
        try check(bindText(text))
        return self
    }

    /// The JSON escapes of the control characters, which JSON requires.
    private static let escapes = (0..<0x20).map { "\\u00\($0 < 16 ? "0" : "")" + String($0, radix: 16) }

    @discardableResult func bind(_ value: [UInt8]) throws -> Statement {
        bound += 1
        let code = value.withUnsafeBytes { bytes in
            nephos_sqlite3_bind_blob(handle, bound, bytes.baseAddress, Int32(clamping: bytes.count))
        }
        try check(code)
        return self
    }

    // MARK: Rows

    // Each column is read once: first its value and then its address and size. This is safe because one thread uses the
    // connection.

    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            try meter.takeRow()
            return true
        case SQLITE_DONE: return false
        case let code: throw error(code)
        }
    }

    func insert() throws -> Int64? {
        // Only an insertion sets the row ID, so 0 afterwards means that a row was updated instead of added.
        sqlite3_set_last_insert_rowid(database, 0)
        _ = try step()
        let key = sqlite3_last_insert_rowid(database)
        return key == 0 ? nil : key
    }

    var changes: Int { Int(sqlite3_changes64(database)) }

    func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(handle, Int32(column))
    }

    func value(_ column: Int) -> StoredValue {
        switch sqlite3_column_type(handle, Int32(column)) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_TEXT: .text(Array(textInPlace(column)))
        default: .bytes(bytes(column))
        }
    }

    func text(_ column: Int) -> String {
        optionalText(column) ?? ""
    }

    func optionalText(_ column: Int) -> String? {
        let bytes = textInPlace(column)
        return bytes.baseAddress == nil ? nil : String(decoding: bytes, as: UTF8.self)
    }

    func bytes(_ column: Int) -> [UInt8] { Array(bytesInPlace(column)) }

    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer {
        let value = sqlite3_column_value(handle, Int32(column))
        let start = sqlite3_value_text(value)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    }

    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer {
        let value = sqlite3_column_value(handle, Int32(column))
        let start = sqlite3_value_blob(value)
        let count = Int(sqlite3_value_bytes(value))
        meter.take(bytes: count)
        return UnsafeRawBufferPointer(start: start, count: count)
    }
}
