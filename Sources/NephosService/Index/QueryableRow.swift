import NephosStorage
import NephosWire

/// A stored record in the form that conditions, orders and indexes read: without encrypted fields.
struct QueryableRow: QueryableRecord {
    let row: RecordRow
    let zoneID: ZoneIDDictionary
    private let fields: RecordFields
    private let creator: String?
    private let modifier: String?
    /// The names of the fields that a full-text search examines.
    private let searchableFields: [String]

    var recordName: String { row.name }

    /// - Parameters:
    ///   - names: the names of the fields to decode; nil decodes all fields.
    ///   - creator: the name of the creator's user record; nil if it is not needed.
    ///   - modifier: the name of the last modifier's user record; nil if it is not needed.
    init(
        _ row: RecordRow, zoneID: ZoneIDDictionary = .defaultZone, fields names: [String]? = nil,
        searchableFields: [String] = [], creator: String? = nil, modifier: String? = nil
    ) {
        self.row = row
        self.zoneID = zoneID
        self.searchableFields = searchableFields
        self.creator = creator
        self.modifier = modifier
        fields = Self.decode(row.fields, names)
    }

    /// - Parameter fields: the decoded fields of the row.
    init(_ row: RecordRow, known fields: RecordFields, creator: String? = nil, modifier: String? = nil) {
        self.row = row
        self.fields = fields
        self.creator = creator
        self.modifier = modifier
        zoneID = .defaultZone
        searchableFields = []
    }

    private static func decode(_ bytes: [UInt8], _ names: [String]?) -> RecordFields {
        let encoded = EncodedFields(bytes: bytes)
        guard let names else { return (try? encoded.decoded()) ?? RecordFields() }
        return names.isEmpty ? RecordFields() : (try? encoded.selecting(names).decoded()) ?? RecordFields()
    }

    func value(ofField name: String) -> FieldValue? {
        guard let field = fields[name] else {
            return name == QueryKey.changeTagField ? .string(ChangeTag.make(sequence: row.sequence)) : nil
        }
        return field.isEncrypted ? nil : field.value
    }

    func value(of field: QuerySystemField) -> FieldValue? {
        switch field {
        case .recordName: reference(row.name)
        case .createdTimestamp: .timestamp(Timestamp(milliseconds: row.createdAt))
        case .modifiedTimestamp: .timestamp(Timestamp(milliseconds: row.modifiedAt))
        case .createdUserRecordName: reference(creator)
        case .modifiedUserRecordName: reference(modifier)
        case .share: reference(row.share)
        case .parent: reference(row.parent)
        }
    }

    private func reference(_ name: String?) -> FieldValue? {
        name.map { .reference(ReferenceValue(recordName: $0)) }
    }

    var searchableValues: [FieldValue] { searchableFields.compactMap { value(ofField: $0) } }
}

extension QueryKey {
    /// The schema's name for a record's change tag. Web Services have no other name for the change tag, so queries
    /// treat it as a field.
    static let changeTagField = SystemField.etag.rawValue

    func value(in record: QueryableRow) -> FieldValue? {
        switch self {
        case .field(let name): record.value(ofField: name)
        case .system(let field): record.value(of: field)
        case .allSearchableFields: nil
        }
    }
}
