import FoundationEssentials
import NephosWire

/// The rules for the values that may be saved in a field of a type: "each field keeps its type". A DOUBLE field accepts
/// any number, and an INT64 field a whole number, whatever type the number was sent with, if the conversion is
/// lossless: an app's `NSNumber` does not distinguish them. A value that is sent without a type may be read as another
/// type: a string as BYTES or a number, a whole number as TIMESTAMP (CloudKit Web Services, Field Dictionary).
enum FieldTypeRules {
    /// - Returns: the value converted to the field's type; nil if it already has that type.
    static func fit(
        _ field: Field, to type: SchemaType, name: String, recordType: String
    ) throws(ServiceError) -> FieldValue? {
        guard let value = field.value else { return nil }
        try checkEncryption(field, value, type, name, recordType)
        if case .sealed(let sealed) = value {
            guard accepts(sealed.type, type) else { throw mismatch(field, value, type, name, recordType) }
            return nil
        }
        guard value.type.isList == type.isList else { throw mismatch(field, value, type, name, recordType) }
        let scalar = value.type.scalar
        if type.accepts(scalar) { return nil }
        // An empty list has no element type, so it gets the field's.
        if scalar == .unknown { return .list(of: type.scalar.wire, []) }
        let isConvertible = !field.hasDeclaredType || (type.isNumber && scalar != .string)
        guard isConvertible, let read = reread(value, as: type) else {
            throw mismatch(field, value, type, name, recordType)
        }
        return read
    }

    /// Whether an encrypted value may be saved in a field. The value keeps its own type: the service cannot convert an
    /// encrypted whole number to a fraction, and an app's `NSNumber` does not distinguish the two.
    private static func accepts(_ sealed: FieldType, _ type: SchemaType) -> Bool {
        guard sealed.isList == type.isList else { return false }
        switch sealed.scalar {
        case .int64, .double: return type.isNumber
        case .unknown: return sealed.isList
        default: return type.accepts(sealed.scalar)
        }
    }

    private static func checkEncryption(
        _ field: Field, _ value: FieldValue, _ type: SchemaType, _ name: String, _ recordType: String
    ) throws(ServiceError) {
        if field.isEncrypted == type.isEncrypted { return }
        if field.isEncrypted {
            throw .invalid(
                "Attempt to save encrypted data in non encrypted field type: field '\(name)' for type '\(recordType)'")
        }
        // Apple's service treats an unmarked value as encrypted bytes.
        throw .invalid(
            mismatch("ENCRYPTED_BYTES", type, name, recordType)
                + "; send it with isEncrypted (CKRecord.encryptedValues)")
    }

    private static func mismatch(
        _ field: Field, _ value: FieldValue, _ type: SchemaType, _ name: String, _ recordType: String
    ) -> ServiceError {
        let prefix = field.isEncrypted ? "ENCRYPTED_" : ""
        return .invalid(mismatch(prefix + value.type.wireName, type, name, recordType))
    }

    /// The reason for the refusal of a value, in Apple's words.
    private static func mismatch(
        _ value: String, _ type: SchemaType, _ name: String, _ recordType: String
    ) -> String {
        let defined =
            type.isEncrypted ? "ENCRYPTED_\(type.scalar.rawValue)\(type.isList ? "_LIST" : "")" : type.text
        return "invalid attempt to set value type \(value) for field '\(name)' for type '\(recordType)',"
            + " defined to be: \(defined)"
    }

    private static func reread(_ value: FieldValue, as type: SchemaType) -> FieldValue? {
        if case .list(_, let elements) = value {
            var read: [FieldValue] = []
            for element in elements {
                guard let element = rereadScalar(element, as: type.scalar) else { return nil }
                read.append(element)
            }
            // In a NUMBER field, a list of strings may be one of whole numbers and of fractions.
            guard let scalar = read.first?.type.scalar, read.allSatisfy({ $0.type.scalar == scalar }) else {
                return nil
            }
            return .list(of: scalar, read)
        }
        return rereadScalar(value, as: type.scalar)
    }

    /// The date with exactly this time; nil if there is none.
    private static func timestamp(_ milliseconds: Int64) -> FieldValue? {
        let time = Timestamp(milliseconds: milliseconds)
        return time.milliseconds == milliseconds ? .timestamp(time) : nil
    }

    /// The value that a value without a declared type is in a field of a type; nil if it is none of that type.
    static func rereadScalar(_ value: FieldValue, as scalar: SchemaType.Scalar) -> FieldValue? {
        switch (value, scalar) {
        case (.int64(let number), .double): Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
        case (.int64(let number), .timestamp): timestamp(number)
        case (.double(let number), .int64): Int64(exactly: number).map { .int64($0) }
        case (.double(let number), .timestamp): Int64(exactly: number).flatMap(timestamp)
        case (.string(let text), .bytes): Base64.decodeLines(text).map { .bytes($0) }
        case (.string(let text), .int64): JSONNumber.int64(text).map { .int64($0) }
        case (.string(let text), .double): JSONNumber.double(text).map { .double($0) }
        case (.string(let text), .number):
            JSONNumber.int64(text).map { .int64($0) } ?? JSONNumber.double(text).map { .double($0) }
        case (.string(let text), .timestamp): JSONNumber.int64(text).flatMap(timestamp)
        default: nil
        }
    }
}
