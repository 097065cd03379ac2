import NephosStorage

/// The record types of a store and the types of their fields.
struct Schema: Equatable, Sendable {
    private(set) var recordTypes: [String: [String: SchemaType]] = [:]

    init() {}

    init(_ reader: any StorageReader) throws {
        for type in try reader.recordTypes() { recordTypes[type] = [:] }
        for row in try reader.schemaFields() {
            recordTypes[row.recordType, default: [:]][row.field] = SchemaType(row.type)
        }
    }

    func hasRecordType(_ name: String) -> Bool { recordTypes[name] != nil }

    func type(of field: String, in recordType: String) -> SchemaType? { recordTypes[recordType]?[field] }

    mutating func add(recordType: String) {
        if recordTypes[recordType] == nil { recordTypes[recordType] = [:] }
    }

    mutating func add(field: String, _ type: SchemaType, to recordType: String) {
        recordTypes[recordType, default: [:]][field] = type
    }
}
