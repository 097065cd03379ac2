/// A record's fields as the JSON object that is stored and sent, byte for byte.
package struct EncodedFields: Hashable, Sendable {
    private enum Form {
        case bytes([UInt8])
        /// The fields of an answer, which are encoded on demand.
        case decoded(RecordFields)
    }

    private var form: Form

    package init(bytes: [UInt8]) { form = .bytes(bytes) }

    init(decoded fields: RecordFields) { form = .decoded(fields) }

    package static let empty = EncodedFields(bytes: Array("{}".utf8))

    package var bytes: [UInt8] {
        switch form {
        case .bytes(let bytes): bytes
        case .decoded(let fields): fields.encodedBytes()
        }
    }

    /// Decodes the fields. Throws if the bytes are not an object of field dictionaries.
    package func decoded() throws(WireError) -> RecordFields {
        switch form {
        case .bytes(let bytes):
            try JSONDocument.parse(bytes) { (json) throws(WireError) in try RecordFields(json: json) }
        case .decoded(let fields): fields
        }
    }

    package static func == (left: EncodedFields, right: EncodedFields) -> Bool { left.bytes == right.bytes }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
