/// A record or tombstone where the database has it, read without copies. Valid only in the call that it is handed to.
package struct VisitedRecord {
    package let zone: ZoneKey
    package let name: UnsafeRawBufferPointer
    package let type: UnsafeRawBufferPointer
    package let sequence: Int64
    package let isDeleted: Bool
    package let createdAt: Int64
    package let createdBy: Int64
    package let modifiedAt: Int64
    package let modifiedBy: Int64
    /// A record's name; nil where there is none.
    package let parent: UnsafeRawBufferPointer?
    package let share: UnsafeRawBufferPointer?
    package let fields: UnsafeRawBufferPointer
    package let number: RowNumber

    /// Reads the columns of the statement's current row, each once.
    init(zone: ZoneKey, _ row: any SQLStatement) {
        self.zone = zone
        name = row.textInPlace(0)
        type = row.textInPlace(1)
        sequence = row.integer(2)
        isDeleted = row.integer(3) != 0
        createdAt = row.integer(4)
        createdBy = row.integer(5)
        modifiedAt = row.integer(6)
        modifiedBy = row.integer(7)
        let (parent, share) = (row.textInPlace(8), row.textInPlace(9))
        self.parent = parent.baseAddress == nil ? nil : parent
        self.share = share.baseAddress == nil ? nil : share
        fields = row.bytesInPlace(10)
        number = RowNumber(row.integer(11))
    }

    /// A copy, to keep.
    package var row: RecordRow {
        func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
        var row = RecordRow(
            zone: zone, name: text(name), type: text(type), sequence: sequence, isDeleted: isDeleted,
            createdAt: createdAt, createdBy: createdBy, modifiedAt: modifiedAt, modifiedBy: modifiedBy,
            parent: parent.map(text), share: share.map(text), fields: Array(fields))
        row.number = number
        return row
    }
}

/// The value that an index has the record under at which a statement is, which is read only where it is asked for.
package struct VisitedValue {
    private let row: any SQLStatement

    init(_ row: any SQLStatement) { self.row = row }

    /// Until the next record is visited. Its column is behind a record's.
    package var bytes: UnsafeRawBufferPointer { row.bytesInPlace(12) }
}
