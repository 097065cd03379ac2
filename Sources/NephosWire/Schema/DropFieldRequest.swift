/// The field that `schema/drop` removes.
package struct DropFieldRequest: Hashable, Sendable {
    package var recordType: String
    package var field: String

    package init(recordType: String, field: String) {
        self.recordType = recordType
        self.field = field
    }
}

extension DropFieldRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        recordType = try json.required("recordType", "a string") { (json) throws(WireError) in try json.string() }
        field = try json.required("field", "a string") { (json) throws(WireError) in try json.string() }
    }

    package var estimatedSize: Int { 64 + recordType.utf8.count + field.utf8.count }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("recordType", recordType)
        writer.member("field", field)
        writer.endObject()
    }
}
