import NephosWire
import Testing

@testable import NephosService

/// The types that fields get from their first values.
@Suite struct SchemaInferenceTests {
    private func fields(_ name: String, _ value: FieldValue, isEncrypted: Bool = false) -> RecordFields {
        var fields = RecordFields()
        fields[name] = Field(value, isEncrypted: isEncrypted)
        return fields
    }

    @Test func `a first value gives its field a type, and the field keeps it`() throws {
        var schema = JustInTimeSchema(schema: Schema())
        let additions = try schema.admit(fields("title", .string("x")), recordType: "Note").additions
        #expect(additions.recordTypes == ["Note"])
        #expect(additions.fields == [.init(recordType: "Note", field: "title", type: SchemaType(.string))])
        #expect(try schema.admit(fields("title", .string("y")), recordType: "Note").additions.isEmpty)
        #expect(throws: ServiceError.self) { try schema.admit(fields("title", .int64(1)), recordType: "Note") }
    }

    @Test func `production knows only what was deployed`() {
        var known = Schema()
        known.add(recordType: "Note")
        var schema = JustInTimeSchema(schema: known, growth: .none)
        #expect(throws: ServiceError.invalid("Cannot create new type Memo in production schema")) {
            try schema.admit(RecordFields(), recordType: "Memo")
        }
        #expect(throws: ServiceError.self) { try schema.admit(fields("title", .string("x")), recordType: "Note") }
    }

    @Test(arguments: [
        (FieldValue.int64(1), "ENCRYPTED INT64", "NUMBER"), (.double(1.5), "ENCRYPTED DOUBLE", "NUMBER"),
        (.string("x"), "ENCRYPTED STRING", "STRING"), (.bytes([1]), "ENCRYPTED BYTES", "BYTES"),
    ])
    func `each type a save makes can be written in the schema language`(
        value: FieldValue, encrypted: String, plain: String
    ) {
        #expect(SchemaType(inferredFrom: value, isEncrypted: true)?.text == encrypted)
        #expect(SchemaType(inferredFrom: value, isEncrypted: false)?.text == plain)
        #expect(SchemaType(encrypted) != nil)
    }

    @Test func `references cannot be encrypted`() {
        var schema = JustInTimeSchema(schema: Schema())
        let reference = FieldValue.reference(ReferenceValue(recordName: "a"))
        #expect(throws: ServiceError.self) {
            try schema.admit(fields("owner", reference, isEncrypted: true), recordType: "Note")
        }
        #expect(throws: Never.self) { try schema.admit(fields("owner", reference), recordType: "Note") }
    }
}
