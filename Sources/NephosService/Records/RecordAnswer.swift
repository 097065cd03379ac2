import NephosStorage
import NephosWire

/// How a stored record is put into an answer: its fields as they are stored, unless the request wants fewer fields or
/// numbers as strings.
struct RecordAnswer {
    private let desiredKeys: DesiredKeys?
    private let numbersAsStrings: Bool
    /// The zone as the item named it; nil where it is the request's.
    var zoneID: ZoneIDDictionary?
    var userRecordNames: [Int64: String]

    init(
        desiredKeys: [String]?, numbersAsStrings: Bool, zoneID: ZoneIDDictionary? = nil,
        userRecordNames: [Int64: String] = [:]
    ) {
        self.desiredKeys = desiredKeys.map(DesiredKeys.init)
        self.numbersAsStrings = numbersAsStrings
        self.zoneID = zoneID
        self.userRecordNames = userRecordNames
    }

    func dictionary(_ row: RecordRow) -> RecordDictionary {
        RecordDictionary(
            recordName: row.name, recordType: row.type, recordChangeTag: ChangeTag.make(sequence: row.sequence),
            zoneID: zoneID, fields: fields(row.fields), created: timestamp(row.createdAt, by: row.createdBy),
            modified: timestamp(row.modifiedAt, by: row.modifiedBy), parent: row.parent.map(Self.reference),
            share: row.share.map(Self.reference))
    }

    /// Writes the same dictionary from where the database has the record.
    func write(_ record: VisitedRecord, _ users: UserNames, to writer: inout JSONWriter) throws {
        try withBytes(of: record, users) { $0.write(to: &writer) }
    }

    /// Writes the same packed.
    func write(_ record: VisitedRecord, _ users: UserNames, to writer: inout PackedRecordsWriter) throws {
        try withBytes(of: record, users) { writer.record($0) }
    }

    /// Calls `body` with what the answer says of a record.
    @inline(__always)
    private func withBytes(
        of record: VisitedRecord, _ users: UserNames, _ body: (StoredRecordBytes) -> Void
    ) throws {
        let created = (record.createdAt, try users.bytes(of: record.createdBy))
        let modified = (record.modifiedAt, try users.bytes(of: record.modifiedBy))
        ChangeTag.withBytes(sequence: record.sequence) { tag in
            var bytes = StoredRecordBytes(
                recordName: record.name, recordType: record.type, recordChangeTag: tag, fields: record.fields,
                created: created, modified: modified, zoneID: zoneID, parent: record.parent.map(Self.reference),
                share: record.share.map(Self.reference))
            if desiredKeys == nil && !numbersAsStrings { return body(bytes) }
            fields(Array(record.fields)).bytes.withUnsafeBytes { fields in
                bytes.fields = fields
                body(bytes)
            }
        }
    }

    private func fields(_ bytes: [UInt8]) -> EncodedFields {
        var fields = EncodedFields(bytes: bytes)
        if let desiredKeys { fields = fields.selecting(desiredKeys) }
        return numbersAsStrings ? fields.withNumbersAsStrings() : fields
    }

    private func timestamp(_ time: Int64, by account: Int64) -> TimestampDictionary {
        TimestampDictionary(
            timestamp: time, userRecordName: userRecordNames[account] ?? "",
            deviceID: TimestampDictionary.anyDevice)
    }

    private static func reference(_ name: String) -> ReferenceValue { ReferenceValue(recordName: name) }
}
