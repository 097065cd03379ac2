/// A borrowed `RecordRow`: a record or tombstone that is read in the database's memory without copies. It is valid only
/// in the call that receives it.
///
/// If the checksum does not match (`isDamaged`), the view has the record's name, number and change sequence as far as
/// they can be read. Otherwise it is an empty tombstone, so that no damaged value reaches an answer.
package struct RecordRowView {
    package let zone: ZoneKey
    package let name: UnsafeRawBufferPointer
    package let number: RowNumber
    package let sequence: Int64
    package private(set) var type: UnsafeRawBufferPointer
    package private(set) var isDeleted: Bool
    package private(set) var isDamaged = false
    /// The time at which the record was created, in milliseconds since 1970.
    package let createdAt: Int64
    package let createdBy: Int64
    /// The time at which the record was last modified, in milliseconds since 1970.
    package let modifiedAt: Int64
    package let modifiedBy: Int64
    /// The name of the parent record; nil if the record has no parent.
    package private(set) var parent: UnsafeRawBufferPointer?
    package private(set) var share: UnsafeRawBufferPointer?
    package private(set) var fields: UnsafeRawBufferPointer

    /// The columns of a statement that reads records, in the order of `SQL.recordColumns`.
    enum Column: Int, CaseIterable {
        case name, number, sequence, type, deleted, createdAt, createdBy, modifiedAt, modifiedBy, parent, share,
            checksum, fields
    }

    /// The number of columns that a statement reads of a record.
    static var columnCount: Int { Column.allCases.count }

    /// Reads each column of the statement's current row once.
    @inline(__always)
    init(zone: ZoneKey, _ row: some SQLStatement) {
        func integer(_ column: Column) -> Int64 { row.integer(column.rawValue) }
        func text(_ column: Column) -> UnsafeRawBufferPointer { row.textInPlace(column.rawValue) }
        func optionalText(_ column: Column) -> UnsafeRawBufferPointer? {
            let text = text(column)
            return text.baseAddress == nil ? nil : text
        }
        self.zone = zone
        name = text(.name)
        number = RowNumber(integer(.number))
        sequence = integer(.sequence)
        type = text(.type)
        isDeleted = integer(.deleted) != 0
        createdAt = integer(.createdAt)
        createdBy = integer(.createdBy)
        modifiedAt = integer(.modifiedAt)
        modifiedBy = integer(.modifiedBy)
        parent = optionalText(.parent)
        share = optionalText(.share)
        fields = row.bytesInPlace(Column.fields.rawValue)
        if checksum != integer(.checksum) { becomeDamaged() }
    }

    fileprivate init(
        _ row: RecordRow, name: UnsafeRawBufferPointer, type: UnsafeRawBufferPointer, parent: UnsafeRawBufferPointer?,
        share: UnsafeRawBufferPointer?, fields: UnsafeRawBufferPointer
    ) {
        zone = row.zone
        number = row.number
        sequence = row.sequence
        isDeleted = row.isDeleted
        isDamaged = row.isDamaged
        createdAt = row.createdAt
        createdBy = row.createdBy
        modifiedAt = row.modifiedAt
        modifiedBy = row.modifiedBy
        (self.name, self.type, self.parent, self.share, self.fields) = (name, type, parent, share, fields)
    }

    private mutating func becomeDamaged() {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        (type, fields) = (nothing, nothing)
        (parent, share) = (nil, nil)
        (isDamaged, isDeleted) = (true, true)
    }

    /// A copy of the record that outlives the call.
    package var row: RecordRow {
        func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
        var row = RecordRow(
            zone: zone, name: text(name), type: text(type), sequence: sequence, isDeleted: isDeleted,
            createdAt: createdAt, createdBy: createdBy, modifiedAt: modifiedAt, modifiedBy: modifiedBy,
            parent: parent.map(text), share: share.map(text), fields: Array(fields))
        row.number = number
        row.isDamaged = isDamaged
        return row
    }
}

extension RecordRow {
    /// Calls `body` with a view of this row.
    package func withView<T>(_ body: (RecordRowView) throws -> T) rethrows -> T {
        func withBytes<Result>(
            of text: String?, _ body: (UnsafeRawBufferPointer?) throws -> Result
        ) rethrows -> Result {
            guard var text else { return try body(nil) }
            return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
        }
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        return try withBytes(of: name) { name in
            try withBytes(of: type) { type in
                try withBytes(of: parent) { parent in
                    try withBytes(of: share) { share in
                        try fields.withUnsafeBytes { fields in
                            try body(
                                RecordRowView(
                                    self, name: name ?? nothing, type: type ?? nothing, parent: parent, share: share,
                                    fields: fields))
                        }
                    }
                }
            }
        }
    }
}

/// The value of the index entry at a statement's current row. Its bytes are read on demand.
package struct IndexValueView {
    // Unowned: the connection retains the statement, and this view is valid only in the call that receives it.
    private unowned(unsafe) let row: any SQLStatement

    init(_ row: any SQLStatement) { self.row = row }

    /// The bytes of the value, valid until the next record is visited. Their column follows the columns of the record.
    package var bytes: UnsafeRawBufferPointer { row.bytesInPlace(RecordRowView.Column.allCases.count) }
}
