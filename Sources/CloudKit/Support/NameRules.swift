import Foundation

/// The rules for names for which Apple's framework raises an exception: no name is empty, and a record type or field
/// key contains only valid characters. The service checks all other rules when it receives a name ("Limits", Apple's
/// documentation of CKRecord.ID, CKRecordZone.ID and CKRecord). This library does not check them, because apps create
/// invalid IDs as placeholders and for comparisons.
enum NameRules {
    /// Keys that are not allowed for fields, because they would hide a record's own metadata.
    static let reservedFieldKeys: Set<String> = [
        "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID", "modificationDate",
        "modifiedByDevice", "recordChangeTag", "recordID", "recordType",
    ]

    /// Stops the program if `name` cannot be a record's name.
    static func checkRecordName(_ name: String) {
        raise(unless: !name.isEmpty, "CKRecord.ID: the record name is empty.")
    }

    /// Stops the program if `name` cannot be a zone's name.
    static func checkZoneName(_ name: String) {
        raise(unless: !name.isEmpty, "CKRecordZone.ID: the zone name is empty.")
    }

    /// Stops the program if `type` is not a valid record type: a letter or underscore, then letters, digits and
    /// underscores. The service refuses a type that begins with an underscore, because such types belong to the system.
    static func checkRecordType(_ type: String) {
        raise(unless: !type.isEmpty, "CKRecord: the record type is empty.")
        raise(
            unless: isIdentifier(type) || type == CKRecord.SystemType.share,
            """
            CKRecord: recordType (\(type)) contains invalid characters. A type is a letter followed by letters, digits \
            and underscores.
            """)
    }

    /// Stops the program if `key` is not a valid field key. The service refuses a key that begins with an underscore,
    /// because such keys belong to the system.
    static func checkFieldKey(_ key: String) {
        // A share's own fields have names that begin with "cloudkit.", such as "cloudkit.title".
        raise(
            unless: isIdentifier(key) || key.hasPrefix("cloudkit."),
            "CKRecord: the field key \"\(key)\" is not a letter followed by letters, digits and underscores.")
        raise(unless: !reservedFieldKeys.contains(key), "CKRecord: the field key \"\(key)\" is reserved.")
    }

    private static func isIdentifier(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, isLetterOrUnderscore(first) else { return false }
        return bytes.allSatisfy {
            isLetterOrUnderscore($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }

    private static func isLetterOrUnderscore(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
    }
}
