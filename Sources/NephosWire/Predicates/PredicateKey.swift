extension QueryKey {
    /// The names of a record's properties in predicates and sort descriptors.
    private static let properties: [String: SystemField] = [
        "recordID": .recordName, "recordName": .recordName, "creationDate": .createdTimestamp,
        "modificationDate": .modifiedTimestamp, "creatorUserRecordID": .createdUserRecordName,
        "lastModifiedUserRecordID": .modifiedUserRecordName,
    ]

    /// Resolves a key of a predicate or a sort descriptor: a record's property, a system field by its
    /// `CKRecord.SystemFieldKey`, or a field.
    package init(predicateKey key: String) throws(PredicateRefusal) {
        if let field = Self.properties[key] ?? SystemField(schemaName: key) {
            self = .system(field)
            return
        }
        guard !key.utf8.contains(UInt8(ascii: ".")) else {
            throw PredicateRefusal(
                "the key path \"\(key)\"", "a query looks at the fields of one record",
                "give the record a field of its own with the value, or query the other type and use its references")
        }
        guard Self.isFieldName(key) else {
            throw PredicateRefusal(
                "the key \"\(key)\"", "there is no such field",
                "a field's name is a letter, then letters, digits and underscores")
        }
        self = .field(key)
    }

    /// Returns whether `name` is a valid name of a record's field.
    private static func isFieldName(_ name: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
        let bytes = name.utf8
        guard let first = bytes.first, isLetter(first) || name.hasPrefix("cloudkit.") else { return false }
        return name.hasPrefix("cloudkit.")
            || bytes.allSatisfy { isLetter($0) || $0 &- 0x30 < 10 || $0 == UInt8(ascii: "_") }
    }
}

/// The reason why queries do not support a predicate or a sort descriptor: the unsupported part, the rule, and an
/// alternative.
package struct PredicateRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package var part: String
    package var rule: String
    package var remedy: String

    package init(_ part: String, _ rule: String, _ remedy: String) {
        self.part = part
        self.rule = rule
        self.remedy = remedy
    }

    package var description: String { "Invalid predicate: \(part): \(rule); \(remedy)." }
}
