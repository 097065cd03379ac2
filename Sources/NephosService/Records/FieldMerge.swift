import NephosStorage
import NephosWire

/// Merges a save into the stored record. Sent fields replace the stored fields, a cleared field is removed, and all
/// other fields stay byte for byte. The server sets dates and users (`CKRecord`, Apple's documentation).
struct FieldMerge {
    var zone: ZoneKey
    /// The time of the save, in milliseconds since 1970.
    var now: Int64
    var account: Int64

    func inserted(_ operation: ValidOperation, type: String, fields: RecordFields) -> RecordRow {
        RecordRow(
            zone: zone, name: operation.recordName, type: type, sequence: 0, createdAt: now, createdBy: account,
            modifiedAt: now, modifiedBy: account, parent: Self.parent(operation.parent, kept: nil),
            fields: fields.encoded().bytes)
    }

    func merged(_ operation: ValidOperation, into stored: RecordRow, fields: RecordFields) -> RecordRow {
        var row = touched(stored)
        row.parent = Self.parent(operation.parent, kept: stored.parent)
        if !fields.isEmpty { row.fields = EncodedFields(bytes: stored.fields).merging(fields).bytes }
        return row
    }

    func replaced(
        _ operation: ValidOperation, _ stored: RecordRow, type: String, fields: RecordFields
    ) throws -> RecordRow {
        var row = touched(stored)
        row.type = type
        // A conversion to another type replaces the fields alone.
        row.parent = Self.parent(operation.parent, kept: operation.operationType == .forceUpdate ? stored.parent : nil)
        row.fields = try Self.kept(operation, stored, type: type, fields).bytes
        return row
    }

    /// The fields of a replacement, plus the stored fields that the replacement keeps. It keeps no fields of a record
    /// of another type.
    private static func kept(
        _ operation: ValidOperation, _ stored: RecordRow, type: String, _ fields: RecordFields
    ) throws -> EncodedFields {
        if operation.keep.isEmpty || type != stored.type { return fields.encoded() }
        let keep = Set(operation.keep)
        let former = EncodedFields(bytes: stored.fields)
        var changes = fields
        for entry in try former.decoded().entries where !keep.contains(entry.name) && fields[entry.name] == nil {
            changes[entry.name] = Field(nil)
        }
        return former.merging(changes)
    }

    /// The tombstone of a record.
    func deleted(_ stored: RecordRow) -> RecordRow {
        var row = touched(stored)
        row.isDeleted = true
        row.parent = nil
        row.share = nil
        row.fields = []
        return row
    }

    /// Refuses a record that exceeds the size limit after the merge.
    static func checkSize(_ row: RecordRow) throws(ServiceError) {
        // The encoded form is never smaller than the data, so most records need no decoding.
        guard row.fields.count > Limits.recordSize else { return }
        guard let fields = try? EncodedFields(bytes: row.fields).decoded() else { return }
        try RecordSize.check(fields, of: row.name)
    }

    /// The record with the time and the user of this save.
    func touched(_ stored: RecordRow) -> RecordRow {
        var row = stored
        row.modifiedAt = now
        row.modifiedBy = account
        return row
    }

    private static func parent(_ change: ReferenceChange, kept: String?) -> String? {
        switch change {
        case .keep: kept
        case .clear: nil
        case .set(let reference): reference.recordName
        }
    }
}
