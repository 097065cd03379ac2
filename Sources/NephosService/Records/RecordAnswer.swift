import NephosStorage
import NephosWire

/// How a stored record is put into an answer: its fields as they are stored, unless the request wants fewer fields or
/// numbers as strings.
struct RecordAnswer {
    var desiredKeys: [String]?
    var numbersAsStrings: Bool
    /// The zone as the item named it; nil where it is the request's.
    var zoneID: ZoneIDDictionary?
    var userRecordNames: [Int64: String]

    func dictionary(_ row: RecordRow) -> RecordDictionary {
        RecordDictionary(
            recordName: row.name, recordType: row.type, recordChangeTag: ChangeTag.make(sequence: row.sequence),
            zoneID: zoneID, fields: fields(row.fields), created: timestamp(row.createdAt, by: row.createdBy),
            modified: timestamp(row.modifiedAt, by: row.modifiedBy),
            parent: row.parent.map { ReferenceValue(recordName: $0) },
            share: row.share.map { ReferenceValue(recordName: $0) })
    }

    private func fields(_ bytes: [UInt8]) -> EncodedFields {
        var fields = EncodedFields(bytes: bytes)
        if let desiredKeys { fields = fields.selecting(desiredKeys) }
        return numbersAsStrings ? fields.withNumbersAsStrings() : fields
    }

    private func timestamp(_ time: Int64, by account: Int64) -> TimestampDictionary {
        TimestampDictionary(timestamp: time, userRecordName: userRecordNames[account] ?? "")
    }
}
