/// A record of an export, in the form of the `records/modify` body that saves it again: name, type, zone, fields and
/// parent. An import generates the service's own values (change tag, times, users) anew.
package enum RecordLine {
    package struct Encoded {
        package var line: [UInt8]
        /// The number of encrypted fields in the record. Without the account's keys they could not be decrypted
        /// elsewhere.
        package var encrypted: Int
    }

    /// - Parameter file: returns an asset in the form of an export; nil to omit the field.
    package static func encode(
        _ record: RecordDictionary, in zone: String, file: (AssetValue, String) throws -> AssetValue?
    ) throws -> Encoded {
        let fields = try record.fields.decoded().entries
        let plain = fields.filter { !$0.field.isEncrypted }
        let kept = try plain.compactMap { try withFiles($0, file) }
        var operation = RecordOperation(
            operationType: .forceReplace,
            record: RecordToModify(
                recordName: record.recordName, recordType: record.recordType,
                zoneID: zone == ZoneIDDictionary.defaultZoneName ? nil : ZoneIDDictionary(zoneName: zone),
                fields: RecordFields(kept.map(withoutZones)),
                parent: record.parent.map { .set($0.withoutZone) } ?? .keep))
        // If the record still exists, an import keeps the fields that this line cannot represent.
        let names = Set(kept.map(\.name))
        operation.record.keep = fields.map(\.name).filter { !names.contains($0) }
        return Encoded(
            line: ModifyRecordsRequest(operations: [operation]).encoded(), encrypted: fields.count - plain.count)
    }

    private static func withFiles(
        _ entry: RecordFields.Entry, _ file: (AssetValue, String) throws -> AssetValue?
    ) throws -> RecordFields.Entry? {
        guard let assets = entry.field.value?.assets, !assets.isEmpty else { return entry }
        // Continues after an omitted asset, so that all omitted assets are counted.
        let taken = try assets.compactMap { try file($0, entry.name) }
        if taken.count < assets.count { return nil }
        var (entry, rest) = (entry, taken[...])
        entry.field.value = entry.field.value?.mappingAssets { rest.popFirst() ?? $0 }
        return entry
    }

    /// Removes the zones from references. The references then refer to the record's own zone, whatever account owns it.
    private static func withoutZones(_ entry: RecordFields.Entry) -> RecordFields.Entry {
        var entry = entry
        entry.field.value = entry.field.value?.withoutZones
        return entry
    }
}

extension FieldValue {
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
