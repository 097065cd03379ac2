import Foundation

/// What names CloudKit accepts ("Limits", Apple's documentation of CKRecord.ID, CKRecordZone.ID and CKRecord).
enum NameRules {
    /// Of a record name, zone name or field key, in characters.
    static let maximumLength = 255

    /// Keys that would hide a record's own metadata.
    static let reservedFieldKeys: Set<String> = [
        "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID", "modificationDate",
        "modifiedByDevice", "recordChangeTag", "recordID", "recordType",
    ]

    /// Stops the program where `name` cannot be a record's name.
    static func checkRecordName(_ name: String) {
        precondition(!name.isEmpty, "CKRecord.ID: the record name is empty.")
        checkLengthAndASCII(name, of: "CKRecord.ID: the record name")
        precondition(
            !name.utf8.starts(with: "_".utf8) || isUserRecordName(name),
            "CKRecord.ID: the record name \(name) starts with an underscore.")
    }

    /// Stops the program where `name` cannot be a zone's name.
    static func checkZoneName(_ name: String) {
        precondition(!name.isEmpty, "CKRecordZone.ID: the zone name is empty.")
        checkLengthAndASCII(name, of: "CKRecordZone.ID: the zone name")
        precondition(
            !name.utf8.starts(with: "_".utf8) || name == CKRecordZone.ID.defaultZoneName,
            "CKRecordZone.ID: the zone name \(name) starts with an underscore.")
    }

    /// Stops the program where `type` cannot be a record type: a letter, then letters, digits and underscores.
    static func checkRecordType(_ type: String) {
        precondition(!type.isEmpty, "CKRecord: the record type is empty.")
        precondition(
            isIdentifier(type) || type == CKRecord.SystemType.share,
            """
            CKRecord: recordType (\(type)) contains invalid characters. A type is a letter followed by letters, digits \
            and underscores.
            """)
    }

    /// Stops the program where `key` cannot name a field.
    static func checkFieldKey(_ key: String) {
        precondition(key.utf8.count <= maximumLength, "CKRecord: the field key is longer than 255 characters.")
        // A share's own fields are called "cloudkit.title" and the like.
        precondition(
            isIdentifier(key) || key.hasPrefix("cloudkit."),
            "CKRecord: the field key \"\(key)\" is not a letter followed by letters, digits and underscores.")
        precondition(!reservedFieldKeys.contains(key), "CKRecord: the field key \"\(key)\" is reserved.")
    }

    /// The names the service gives to users: the only ones with a leading underscore that programs write themselves.
    private static func isUserRecordName(_ name: String) -> Bool {
        if name == CKCurrentUserDefaultName { return true }
        let digits = name.utf8.dropFirst()
        return digits.count == 32
            && digits.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    private static func checkLengthAndASCII(_ name: String, of what: String) {
        precondition(name.utf8.allSatisfy { $0 < 0x80 }, "\(what) \(name) has characters that are not ASCII.")
        precondition(name.utf8.count <= maximumLength, "\(what) is longer than 255 characters.")
    }

    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
