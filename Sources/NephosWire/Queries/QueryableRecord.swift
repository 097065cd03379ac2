/// A record whose values conditions and orders evaluate.
package protocol QueryableRecord {
    var recordName: String { get }
    /// The record's zone, to which its references without a zone refer.
    var zoneID: ZoneIDDictionary { get }
    /// Returns the value of a field; nil if the record has no such field.
    func value(ofField name: String) -> FieldValue?
    /// Returns the value of a system field; nil if the record has none. Not called for `recordName`, which every record
    /// has.
    func value(of field: SystemField) -> FieldValue?
    /// The values of the full-text searchable fields, for a search that names no field.
    var searchableValues: [FieldValue] { get }
}

extension QueryableRecord {
    package func value(of key: QueryKey) -> FieldValue? {
        switch key {
        case .field(let name): value(ofField: name)
        case .system(.recordName): .reference(ReferenceValue(recordName: recordName, zoneID: zoneID))
        case .system(let field): value(of: field)
        case .allSearchableFields: .list(of: .string, searchableValues)
        }
    }
}

extension ZoneIDDictionary {
    /// Whether both IDs name the same zone. A missing owner matches any owner, so a caller that distinguishes owners
    /// sets them.
    func isSame(as other: ZoneIDDictionary) -> Bool {
        guard zoneName == other.zoneName else { return false }
        guard let mine = ownerRecordName, let theirs = other.ownerRecordName else { return true }
        return mine == theirs
    }
}

/// The values of an in-memory record.
package struct RecordValues: QueryableRecord {
    package var recordName: String
    package var zoneID: ZoneIDDictionary
    package var fields: RecordFields
    package var system: [SystemField: FieldValue]

    package init(
        recordName: String, zoneID: ZoneIDDictionary = .defaultZone, fields: RecordFields = RecordFields(),
        system: [SystemField: FieldValue] = [:]
    ) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.fields = fields
        self.system = system
    }

    package func value(ofField name: String) -> FieldValue? { fields[name]?.value }
    package func value(of field: SystemField) -> FieldValue? { system[field] }

    /// The values of all string fields, because the development environment indexes all of them for full text. Lists of
    /// strings are not included, because they are searched only if the schema says so.
    package var searchableValues: [FieldValue] {
        fields.entries.compactMap { entry in
            guard !entry.field.isEncrypted, case .string(let text)? = entry.field.value else { return nil }
            return .string(text)
        }
    }
}
