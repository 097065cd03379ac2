/// A value of a row in a database's type.
package enum StoredValue: Hashable, Sendable {
    case null
    case integer(Int64)
    /// UTF-8.
    case text([UInt8])
    case bytes([UInt8])
}

/// A table that every database has, and its columns, both ordered by name.
package struct StoreTable: Hashable, Sendable {
    package var name: String
    package var columns: [String]

    package init(name: String, columns: [String]) {
        self.name = name
        self.columns = columns
    }
}

/// The positions from which a store's counters continue.
package struct StoreCounters: Sendable {
    /// At least the largest change sequence given so far.
    package var sequence: Int64
    /// The last ID of each table with generated IDs.
    package var ids: [String: Int64]

    package init(sequence: Int64, ids: [String: Int64]) {
        self.sequence = sequence
        self.ids = ids
    }
}

/// Untyped access to a store's rows, to copy them to another database. One thread uses it, and nothing else the store.
package protocol StoreCopy: AnyObject {
    /// The tables that every database has. A database's other tables are derived from these and the counters.
    func tables() throws -> [StoreTable]
    /// Passes a table's rows to `body` in batches.
    func read(_ table: StoreTable, _ body: ([[StoredValue]]) throws -> Void) throws
    func counters() throws -> StoreCounters

    /// Adds rows in a transaction that `commit` ends.
    func insert(_ rows: [[StoredValue]], into table: StoreTable) throws
    /// Makes the store's counters continue from another's.
    func setCounters(_ counters: StoreCounters) throws
    func commit() throws
    /// Closes it and rolls back uncommitted rows.
    func close()
}

/// Copies a store to another database: IDs, change sequences and the secret are kept, so tokens and receipts stay
/// valid.
package enum StoreMove {
    /// A copied table's row count and the sum of its rows' checksums.
    private struct Content: Hashable {
        var rows = 0
        var sum: UInt64 = 0

        mutating func add(_ some: [[StoredValue]]) {
            rows += some.count
            for row in some { sum &+= Checksum(Self.bytes(row)).value }
        }

        private static func bytes(_ row: [StoredValue]) -> [UInt8] {
            var bytes: [UInt8] = []
            for value in row {
                switch value {
                case .null: bytes.append(0)
                case .integer(let number):
                    bytes.append(1)
                    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
                case .text(let text): append(2, text)
                case .bytes(let content): append(3, content)
                }
            }
            func append(_ kind: UInt8, _ content: [UInt8]) {
                bytes.append(kind)
                withUnsafeBytes(of: content.count.littleEndian) { bytes.append(contentsOf: $0) }
                bytes.append(contentsOf: content)
            }
            return bytes
        }
    }

    /// Copies everything, reads the copy back, and commits if it is identical. Blocks.
    /// - Returns: the number of rows.
    /// - Throws: `StorageError`; then the target stays empty.
    package static func run(from source: any StoreCopy, to target: any StoreCopy) throws -> Int {
        let tables = try source.tables()
        guard try target.tables() == tables else {
            throw StorageError(.otherVersion, "the two stores are of different versions of Nephos")
        }
        for table in tables {
            try target.read(table) { rows in
                if rows.isEmpty { return }
                throw StorageError(.constraint, "the store that it is to be copied to holds something: \(table.name)")
            }
        }
        var copied: [Content] = []
        for table in tables {
            var content = Content()
            try source.read(table) { rows in
                content.add(rows)
                try target.insert(rows, into: table)
            }
            copied.append(content)
        }
        try target.setCounters(try source.counters())
        for (table, content) in zip(tables, copied) {
            var found = Content()
            try target.read(table) { found.add($0) }
            guard found == content else {
                throw StorageError(.damaged, "\(table.name) does not hold what was copied; nothing is kept")
            }
        }
        try target.commit()
        return copied.reduce(0) { $0 + $1.rows }
    }
}
