import NephosStorage
import NephosWire

/// The rows of an export that are read at once, and their lines.
struct ExportPage: Sendable {
    static let lineEnd = [UInt8(ascii: "\n")]

    let zone: ZoneRow
    let rows: [RecordRow]
    /// The rows of the files that the records' assets name, by the name of their content.
    let files: [String: AssetRow]
    /// The names of contents whose files are not as they were saved.
    var lost: Set<String> = []
    /// The line that makes the zone, if the page is its first.
    private let zoneLine: [UInt8]

    /// Reads the next page of a zone.
    /// - Parameter sequence: the change sequence of the last exported record; nil before the zone's own line.
    init(of zone: ZoneRow, after sequence: Int64?, _ reader: StorageReader) throws {
        self.zone = zone
        rows = try reader.records(
            zone: zone.key, after: sequence ?? 0, limit: Limits.exportedRecords, size: Limits.exportedBytes)
        var files: [String: AssetRow] = [:]
        for row in rows where !row.isDeleted {
            for (_, asset) in EncodedFields(bytes: row.fields).assets() {
                guard let name = asset.content, files[name] == nil, let content = AssetContent.content(named: name)
                else { continue }
                files[name] = try reader.asset(owner: zone.key.owner, content: content)
            }
        }
        self.files = files
        guard sequence == nil, !ZoneRules.isDefault(zone.name) else {
            zoneLine = []
            return
        }
        let make = ZoneOperation(
            operationType: .create, zoneID: ZoneIDDictionary(zoneName: zone.name),
            encryptionScope: try PerZone.scope(of: zone.key, reader))
        zoneLine = ModifyZonesRequest(operations: [make]).encoded() + Self.lineEnd
    }

    /// The lines of each file of the export.
    struct Lines {
        var records: [UInt8] = []
        var encrypted: [UInt8] = []
        var damaged: [UInt8] = []
    }

    /// Returns the lines. The files of the page are exported before, as `lost` decides which lines name them.
    func lines() -> Lines {
        var lines = Lines(records: zoneLine)
        for row in rows {
            if row.isDamaged {
                note(row.name, nil, ServiceError.damagedRecord.reason, &lines)
            } else if !row.isDeleted, row.type != SystemRecordType.user, !row.type.hasPrefix("cloudkit.") {
                add(row, &lines)
            }
        }
        return lines
    }

    private func add(_ row: RecordRow, _ lines: inout Lines) {
        let record = RecordDictionary(
            recordName: row.name, recordType: row.type, recordChangeTag: "", fields: EncodedFields(bytes: row.fields),
            parent: row.parent.map { ReferenceValue(recordName: $0) })
        do {
            var lostFields: [String] = []
            let line = try RecordLine.encode(record, in: zone.name) { asset, field in
                guard let name = asset.content, isWhole(name) else {
                    lostFields.append(field)
                    return nil
                }
                guard asset.seal == nil else { return nil }
                return AssetValue(fileChecksum: asset.fileChecksum, size: asset.size, content: name)
            }
            lines.records += line.line + Self.lineEnd
            let encrypted = RecordFields(
                try record.fields.decoded().encryptedOrSealed.entries.filter { !lostFields.contains($0.name) })
            if !encrypted.isEmpty {
                let line = EncryptedLine(
                    zoneName: zone.name, recordName: row.name, recordType: row.type, fields: encrypted)
                lines.encrypted += line.encoded() + Self.lineEnd
            }
            for field in lostFields { note(row.name, field, "The file is lost or damaged", &lines) }
        } catch {
            note(row.name, nil, ServiceError.damagedRecord.reason, &lines)
        }
    }

    private func isWhole(_ name: String) -> Bool { files[name] != nil && !lost.contains(name) }

    private func note(_ record: String, _ field: String?, _ reason: String, _ lines: inout Lines) {
        let damage = ExportedDamage(zoneName: zone.name, recordName: record, fieldName: field, reason: reason)
        lines.damaged += damage.encoded() + Self.lineEnd
    }
}
