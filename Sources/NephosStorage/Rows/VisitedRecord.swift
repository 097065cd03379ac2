/// A record or tombstone where the database has it, read without copies. Valid only in the call that it is handed to.
package struct VisitedRecord {
    package let zone: ZoneKey
    private let statement: any SQLStatement

    init(zone: ZoneKey, _ statement: any SQLStatement) {
        self.zone = zone
        self.statement = statement
    }

    package var name: UnsafeRawBufferPointer { statement.textInPlace(0) }
    package var type: UnsafeRawBufferPointer { statement.textInPlace(1) }
    package var sequence: Int64 { statement.integer(2) }
    package var isDeleted: Bool { statement.integer(3) != 0 }
    package var createdAt: Int64 { statement.integer(4) }
    package var createdBy: Int64 { statement.integer(5) }
    package var modifiedAt: Int64 { statement.integer(6) }
    package var modifiedBy: Int64 { statement.integer(7) }
    package var parent: String? { statement.optionalText(8) }
    package var share: String? { statement.optionalText(9) }
    package var fields: UnsafeRawBufferPointer { statement.bytesInPlace(10) }

    package var number: RowNumber { RowNumber(statement.integer(11)) }

    /// The value that an index has it under, where it was read by one.
    var indexValue: UnsafeRawBufferPointer { statement.bytesInPlace(12) }

    /// A copy, to keep.
    package var row: RecordRow { RecordRow(zone: zone, statement) }
}

extension RecordRow {
    init(zone: ZoneKey, _ row: any SQLStatement) {
        self.init(
            zone: zone, name: row.text(0), type: row.text(1), sequence: row.integer(2), isDeleted: row.integer(3) != 0,
            createdAt: row.integer(4), createdBy: row.integer(5), modifiedAt: row.integer(6),
            modifiedBy: row.integer(7), parent: row.optionalText(8), share: row.optionalText(9), fields: row.bytes(10))
        number = RowNumber(row.integer(11))
    }
}
