import NephosStorage

/// The names of records: 1 to 255 printable ASCII characters, without a leading underscore (`CKRecord.ID`, Apple's
/// documentation).
enum RecordName {
    /// Whether only the system gives such a name. The names of user records are among them; only the store knows which
    /// names these are.
    static func isSystems(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: "_") }

    /// The reason that the caller may not save a record with a system name: it is another user's record, or no record
    /// has that name. Nil if the caller may save it.
    static func refusalOfSystems(
        _ name: String, _ caller: Caller, _ reader: StorageReader
    ) throws -> ServiceError? {
        guard isSystems(name), name != caller.userRecordName else { return nil }
        if try reader.account(userRecordName: name) != nil { return .anothersUserRecord }
        return .invalid("recordName '\(Identifier.excerpt(name))' must not begin with an underscore")
    }

    /// Checks a record name, as far as this needs no store.
    static func check(_ name: String) throws(ServiceError) {
        let bytes = name.utf8
        if bytes.isEmpty { throw .invalid("recordName must not be empty") }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw .invalid("recordName '\(Identifier.excerpt(name))' must hold printable ASCII characters only")
        }
        if bytes.count > Limits.recordNameLength {
            throw .invalid(
                "recordName '\(Identifier.excerpt(name))' has \(bytes.count) characters; at most"
                    + " \(Limits.recordNameLength) are allowed")
        }
    }
}

/// The names of system records.
enum SystemRecordName {
    /// The name of a zone-wide share: `CKRecordNameZoneWideShare`.
    static let zoneWideShare = "cloudkit.zoneshare"
}
