import NephosWire

/// A record of an export, as the body of `records/modify` that saves it again: its name, type, zone, fields and parent.
/// What the service says of a record (its change tag, its times and users) is the service's next time too.
enum RecordLine {
    struct Encoded {
        var line: [UInt8]
        /// How many of the record's fields hold files, which an export has no place for.
        var files: Int
        /// How many are encrypted: they could not be opened elsewhere without the account's keys.
        var encrypted: Int
    }

    static func encode(_ record: RecordDictionary, in zone: String) throws(WireError) -> Encoded {
        let fields = try record.fields.decoded().entries
        let plain = fields.filter { !$0.field.isEncrypted }
        let kept = plain.filter { $0.field.value?.holdsFile != true }
        let operation = RecordOperation(
            operationType: .forceReplace,
            record: RecordToModify(
                recordName: record.recordName, recordType: record.recordType,
                zoneID: zone == ZoneIDDictionary.defaultZoneName ? nil : ZoneIDDictionary(zoneName: zone),
                fields: RecordFields(kept.map(withoutZones)),
                parent: record.parent.map { .set($0.withoutZone) } ?? .keep))
        return Encoded(
            line: ModifyRecordsRequest(operations: [operation]).encoded(), files: plain.count - kept.count,
            encrypted: fields.count - plain.count)
    }

    /// A reference stays in its record's zone, whatever its owner.
    private static func withoutZones(_ entry: RecordFields.Entry) -> RecordFields.Entry {
        var entry = entry
        entry.field.value = entry.field.value?.withoutZones
        return entry
    }
}

extension FieldValue {
    fileprivate var holdsFile: Bool {
        switch self {
        case .asset: true
        case .list(_, let elements): elements.contains { $0.holdsFile }
        default: false
        }
    }

    fileprivate var withoutZones: FieldValue {
        switch self {
        case .reference(let reference): .reference(reference.withoutZone)
        case .list(let type, let elements): .list(of: type, elements.map(\.withoutZones))
        default: self
        }
    }
}

extension ReferenceValue {
    fileprivate var withoutZone: ReferenceValue {
        var reference = self
        reference.zoneID = nil
        return reference
    }
}
