/// A record or tombstone where the database has it, read without copies. Valid only in the call that it is handed to.
package struct VisitedRecord {
    package let zone: ZoneKey
    package let name: UnsafeRawBufferPointer
    package let type: UnsafeRawBufferPointer
    package let sequence: Int64
    package let isDeleted: Bool
    /// When it was made, in milliseconds since 1970 as decimal digits.
    package let createdAtDigits: UnsafeRawBufferPointer
    package let createdBy: Int64
    /// When it was last written, likewise.
    package let modifiedAtDigits: UnsafeRawBufferPointer
    package let modifiedBy: Int64
    /// A record's name; nil where there is none.
    package let parent: UnsafeRawBufferPointer?
    package let share: UnsafeRawBufferPointer?
    package let fields: UnsafeRawBufferPointer
    package let number: RowNumber

    /// Reads the columns of the statement's current row, each once.
    /// - Throws: `StorageError` `.damaged` where its content is not what was written.
    @inline(__always)
    init(zone: ZoneKey, _ row: some SQLStatement) throws {
        self.zone = zone
        name = row.textInPlace(0)
        sequence = row.integer(1)
        guard let content = RecordContent(row.bytesInPlace(2)) else {
            throw StorageError(.damaged, "record \(row.text(0)) of zone \(zone.id) is not readable")
        }
        type = content.type
        isDeleted = content.isDeleted
        createdAtDigits = content.createdAt
        createdBy = content.createdBy
        modifiedAtDigits = content.modifiedAt
        modifiedBy = content.modifiedBy
        parent = content.parent
        share = content.share
        fields = content.fields
        number = RowNumber(row.integer(3))
    }

    package var createdAt: Int64 { RecordContent.number(createdAtDigits) ?? 0 }
    package var modifiedAt: Int64 { RecordContent.number(modifiedAtDigits) ?? 0 }

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
    // The connection keeps it, and this is valid only in the call that it is handed to.
    private unowned(unsafe) let row: any SQLStatement

    init(_ row: any SQLStatement) { self.row = row }

    /// Until the next record is visited. Its column is behind a record's.
    package var bytes: UnsafeRawBufferPointer { row.bytesInPlace(4) }
}
