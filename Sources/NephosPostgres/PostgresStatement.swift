import CPostgres
import NephosStorage

/// What a statement gave, which may be a part of what another did.
struct PostgresRows {
    var result: PostgresLink.Result
    var count: Int
    /// The column of the result that is the statement's first.
    var firstColumn: Int

    init(_ result: PostgresLink.Result) {
        (self.result, count, firstColumn) = (result, result.rows, 0)
    }

    /// The columns from `column` on of a row of which they may be missing: then the first of them is null.
    init(_ result: PostgresLink.Result, from column: Int) {
        (self.result, firstColumn) = (result, column)
        count = result.rows > 0 && PQgetisnull(result.handle, 0, Int32(column)) == 0 ? 1 : 0
    }
}

/// What runs statements.
protocol StatementRunner: AnyObject {
    var store: StoreNumber { get }
    /// - Returns: its rows; nil where it gives none.
    func run(_ statement: PostgresStatement) throws -> PostgresRows?
}

/// A statement of a connection's, its parameters and its rows. A statement that gives rows gives all at once: the size of
/// what it gives is bounded in its text.
final class PostgresStatement: SQLStatement {
    let sql: SQL
    private unowned let connection: any StatementRunner
    private let meter: ReadMeter?
    private(set) var parameters = PostgresLink.Parameters()
    /// For what is found in a transaction: the zone and the names that were asked for.
    private(set) var integers: [Int64] = []
    /// The owners that are bound.
    private(set) var owners: [Int64] = []
    private(set) var texts: [String] = []
    private var rows: PostgresRows?
    private var row = -1

    init(_ sql: SQL, _ connection: any StatementRunner, _ meter: ReadMeter? = nil) {
        self.meter = meter
        self.sql = sql
        self.connection = connection
    }

    // MARK: Parameters

    @discardableResult func bind(_ value: Int64) throws -> PostgresStatement {
        integers.append(value)
        parameters.add(value)
        return self
    }

    @discardableResult func bind(owner: Int64) throws -> PostgresStatement {
        integers.append(owner)
        owners.append(owner)
        parameters.add(connection.store.key(owner))
        return self
    }

    @discardableResult func bind(_ value: String?) throws -> PostgresStatement {
        guard let value else {
            parameters.addNull()
            return self
        }
        try Self.check(value)
        texts.append(value)
        parameters.add(text: value.utf8)
        return self
    }

    @discardableResult func bind(_ value: [UInt8]) throws -> PostgresStatement {
        parameters.add(bytes: value)
        return self
    }

    @discardableResult func bind(_ values: [String]) throws -> PostgresStatement {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, value) in values.enumerated() {
            try Self.check(value)
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(UInt8(ascii: "\""))
            for byte in value.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        texts.append(contentsOf: values)
        parameters.add(text: text)
        return self
    }

    static func check(_ text: String) throws {
        if !text.isStorable { throw StorageError.unstorable }
    }

    // MARK: Rows

    func step() throws -> Bool {
        if row < 0 { rows = try connection.run(self) }
        row += 1
        guard row < rows?.count ?? 0 else { return false }
        try meter?.takeRow()
        return true
    }

    func insert() throws -> Int64? {
        try step() ? integer(0) : nil
    }

    func reset() {
        (rows, row) = (nil, -1)
        parameters.removeAll()
        integers.removeAll(keepingCapacity: true)
        owners.removeAll(keepingCapacity: true)
        texts.removeAll(keepingCapacity: true)
    }

    var changes: Int { rows?.result.changes ?? 0 }

    func integer(_ column: Int) -> Int64 {
        rows.map { Self.integer($0.result, row, $0.firstColumn + column) } ?? 0
    }

    func owner(_ column: Int) -> Int64 { connection.store.number(integer(column)) }

    /// A number of two, four or eight bytes; 0 for null.
    static func integer(_ result: PostgresLink.Result, _ row: Int, _ column: Int) -> Int64 {
        let bytes = Self.bytes(result, row, column)
        guard let first = bytes.first else { return 0 }
        return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }

    static func bytes(_ result: PostgresLink.Result, _ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let (row, column) = (Int32(row), Int32(column))
        guard PQgetisnull(result.handle, row, column) == 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result.handle, row, column), count: Int(PQgetlength(result.handle, row, column)))
    }

    func text(_ column: Int) -> String { optionalText(column) ?? "" }

    func optionalText(_ column: Int) -> String? {
        let bytes = bytesInPlace(column)
        return bytes.baseAddress == nil ? nil : String(decoding: bytes, as: UTF8.self)
    }

    func bytes(_ column: Int) -> [UInt8] { Array(bytesInPlace(column)) }
    func textInPlace(_ column: Int) -> UnsafeRawBufferPointer { bytesInPlace(column) }

    func bytesInPlace(_ column: Int) -> UnsafeRawBufferPointer {
        guard let rows else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let bytes = Self.bytes(rows.result, row, rows.firstColumn + column)
        meter?.take(bytes: bytes.count)
        return bytes
    }
}
