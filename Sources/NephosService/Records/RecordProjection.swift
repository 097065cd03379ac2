import NephosStorage
import NephosWire

/// The format of records that a request asks for: all stored fields or some, and optionally numbers as strings.
final class RecordProjection {
    private let desiredKeys: DesiredKeys?
    private let numbersAsStrings: Bool
    /// The zone ID as the item spelled it; nil if the item uses the request's zone.
    private let zoneID: ZoneIDDictionary?
    /// Whether the recipient is a participant. Participants must not learn the parent of a shared root.
    private let isShared: Bool
    /// Makes the addresses of assets; nil if no record can have an asset.
    private let assets: AssetAddresses?

    init(
        desiredKeys: [String]?, numbersAsStrings: Bool, zoneID: ZoneIDDictionary? = nil, isShared: Bool = false,
        assets: AssetAddresses
    ) {
        self.isShared = isShared
        self.assets = assets.hasAssets ? assets : nil
        self.desiredKeys = desiredKeys.map(DesiredKeys.init)
        self.numbersAsStrings = numbersAsStrings
        self.zoneID = zoneID
    }

    /// - Parameter users: the user record names of the creator and the last modifier, by account.
    func dictionary(_ row: RecordRow, users: [Int64: String]) -> RecordDictionary {
        func stamp(_ time: Int64, by account: Int64) -> TimestampDictionary {
            TimestampDictionary(
                timestamp: time, userRecordName: users[account] ?? "", deviceID: TimestampDictionary.anyDevice)
        }
        return RecordDictionary(
            recordName: row.name, recordType: row.type, recordChangeTag: ChangeTag.make(sequence: row.sequence),
            zoneID: zoneID, fields: fields(row.fields, in: row.zone, of: row.name),
            created: stamp(row.createdAt, by: row.createdBy),
            modified: stamp(row.modifiedAt, by: row.modifiedBy),
            parent: isShared && row.share != nil ? nil : row.parent.map { ReferenceValue(recordName: $0) },
            share: row.share.map { ReferenceValue(recordName: $0) })
    }

    /// The error that replaces a record whose stored bytes are damaged.
    func damaged(_ recordName: String, _ requestID: String) -> RecordResult {
        var error = ServiceError.damagedRecord.dictionary(requestID: requestID)
        error.recordName = recordName
        error.zoneID = zoneID
        return .failure(error)
    }

    /// Writes the record's dictionary as JSON, directly from the database's memory.
    func write(_ record: RecordRowView, _ users: UserNames, to writer: inout JSONWriter) throws {
        try withBytes(of: record, users) { $0.write(to: &writer, zoneID: zoneID) }
    }

    /// Writes the record in packed form.
    func write(_ record: RecordRowView, _ users: UserNames, to writer: inout PackedRecordsWriter) throws {
        try withBytes(of: record, users) { writer.record($0) }
    }

    /// Calls `body` with the form of the record that the response contains.
    @inline(__always)
    private func withBytes(
        of record: RecordRowView, _ users: UserNames, _ body: (RecordDictionaryView) -> Void
    ) throws {
        let creator = try users.bytes(of: record.createdBy)
        let modifier = record.modifiedBy == record.createdBy ? creator : try users.bytes(of: record.modifiedBy)
        ChangeTag.withBytes(sequence: record.sequence) { tag in
            var bytes = RecordDictionaryView(
                recordName: record.name, recordType: record.type, recordChangeTag: tag, fields: record.fields,
                created: (record.createdAt, creator), modified: (record.modifiedAt, modifier),
                parent: isShared && record.share != nil ? nil : record.parent, share: record.share)
            let isWhole = desiredKeys == nil && !numbersAsStrings
            if isWhole, assets == nil || !EncodedFields.mayHoldAssets(record.fields) { return body(bytes) }
            fields(
                Array(record.fields), in: record.zone, of: String(decoding: record.name, as: UTF8.self)
            ).bytes.withUnsafeBytes { fields in
                bytes.fields = fields
                body(bytes)
            }
        }
    }

    private func fields(
        _ bytes: [UInt8], in zone: ZoneKey, of recordName: @autoclosure () -> String
    ) -> EncodedFields {
        var fields = EncodedFields(bytes: bytes)
        if let desiredKeys { fields = fields.selecting(desiredKeys) }
        if let assets { fields = fields.mappingAssets { assets.linked($0, in: zone, of: recordName) } }
        return numbersAsStrings ? fields.withNumbersAsStrings() : fields
    }
}
