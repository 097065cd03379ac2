/// The request of `schema/drop`: the field to remove.
package struct DropFieldRequest: Hashable, Sendable {
    package var recordType: String
    package var field: String

    package init(recordType: String, field: String) {
        self.recordType = recordType
        self.field = field
    }
}

extension DropFieldRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("recordType", \.recordType, .string), .required("field", \.field, .string))
}
