/// A value of a row, in a type that every database has.
package enum StoredValue: Hashable, Sendable {
    case null
    case integer(Int64)
    /// The text's UTF-8 bytes.
    case text([UInt8])
    case bytes([UInt8])
}

/// A table that every database has, with its columns in the order of their names. Tables are ordered by name.
package struct StoreTable: Hashable, Sendable {
    package var name: String
    package var columns: [String]

    package init(name: String, columns: [String]) {
        self.name = name
        self.columns = columns
    }
}

/// The values from which a store's counters continue.
package struct StoreCounters: Sendable {
    /// A change sequence that is not below any issued change sequence.
    package var sequence: Int64
    /// The last issued ID of each table with generated IDs, by table.
    package var ids: [String: Int64]

    package init(sequence: Int64, ids: [String: Int64]) {
        self.sequence = sequence
        self.ids = ids
    }
}

/// Untyped access to a store's rows, for copying them to another database. One thread uses it, and nothing else uses
/// the store meanwhile.
package protocol StoreCopy: AnyObject {
    /// The tables that every database has. All other tables of a database are derived from these tables and from the
    /// counters.
    func tables() throws -> [StoreTable]
    /// Passes a table's rows to `body` in batches.
    func read(_ table: StoreTable, _ body: ([[StoredValue]]) throws -> Void) throws
    func counters() throws -> StoreCounters

    /// Adds rows to a table, in a transaction that `commit` ends.
    func insert(_ rows: [[StoredValue]], into table: StoreTable) throws
    /// Sets the store's counters, so that they continue from the counters of another store.
    func setCounters(_ counters: StoreCounters) throws
    func commit() throws
    /// Closes the database and rolls back uncommitted rows.
    func close()
}

/// Copies a store to another database. IDs, change sequences and the secret stay the same, so tokens and receipts stay
/// valid.
package enum StoreMove {
    /// The number of a copied table's rows, and the sum of their checksums.
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

    private static func content(of table: StoreTable, in store: any StoreCopy) throws -> Content {
        var content = Content()
        try store.read(table) { content.add($0) }
        return content
    }

    /// Copies all rows, reads the copy back, and commits if both are identical. Blocks the calling thread.
    /// - Returns: the number of rows; nil if the target had the same rows already.
    /// - Throws: `StorageError`, `.constraint` if the target has other rows; in that case the target stays as it was.
    package static func run(from source: any StoreCopy, to target: any StoreCopy) throws -> Int? {
        let tables = try source.tables()
        guard try target.tables() == tables else {
            throw StorageError(.otherVersion, "the two stores are of different versions of Nephos")
        }
        let present = try tables.map { try content(of: $0, in: target) }
        guard present.allSatisfy({ $0.rows == 0 }) else {
            for (table, content) in zip(tables, present) where try Self.content(of: table, in: source) != content {
                throw StorageError(
                    .constraint,
                    """
                    the store that it is to be copied to has other rows of \(table.name): one of the two was used since a \
                    copy. Nothing was changed. Begin with a place that has nothing of it
                    """)
            }
            return nil
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
        for (table, content) in zip(tables, copied) where try Self.content(of: table, in: target) != content {
            throw StorageError(.damaged, "\(table.name) does not hold what was copied; nothing is kept")
        }
        try target.commit()
        return copied.reduce(0) { $0 + $1.rows }
    }
}
