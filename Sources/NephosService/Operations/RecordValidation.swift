import NephosWire

extension ServiceError {
    /// The refusal of an encrypted field, in Apple's words. Only the record with the field is refused.
    fileprivate static let encryptedInPublicDatabase = invalid(
        "encrypted fields are not supported in the public database")

    /// Whether this error of `RecordValidation` means that the operation is malformed regardless of the database and
    /// the schema.
    var isMalformedOperation: Bool {
        code == .badRequest && clientCode == .invalidArguments && self != .encryptedInPublicDatabase
    }
}

/// The rules of a record that need no lookup (`CKRecord`, `CKRecord.ID`, Apple's documentation):
///
/// - a record name has 1 to 255 printable ASCII characters and no leading underscore (user records have one, and only
///   their user may change them: the store knows the names of users);
/// - the name of a record type or field is a letter followed by letters, digits and underscores, at most 255
///   characters; field names with a leading underscore are reserved for the system;
/// - a reference stays in its record's zone;
/// - a parent reference has the action NONE;
/// - a record has at most 1 MB without its assets;
/// - callers cannot create system types;
/// - encrypted fields do not exist in the public database.
struct RecordValidation {
    var scope: DatabaseScope
    var zone: ZoneAddress
    /// The caller. Its user record may have a leading underscore in the record name, and `__defaultOwner__` resolves to
    /// that name.
    var user: CurrentUser

    func validate(
        _ operation: RecordOperation, makeRecordName: () -> String
    ) throws(ServiceError) -> ValidOperation {
        let type = operation.operationType
        let record = operation.record
        let name = try recordName(record.recordName, for: type, makeRecordName: makeRecordName)
        if type.isDeletion {
            if name == user.userRecordName, ZoneRules.isDefault(zone.zoneName) {
                throw .invalid("the user record cannot be deleted")
            }
            return ValidOperation(
                operationType: type, recordName: name, recordType: nil, recordChangeTag: record.recordChangeTag,
                fields: RecordFields(), parent: .keep)
        }
        try checkType(record, name: name, for: type)
        if type.needsChangeTag && record.recordChangeTag == nil {
            throw .invalid(
                "operation '\(type.rawValue)' of record '\(name)' needs its recordChangeTag: look the record up for it, or send"
                    + " '\(type == .replace ? "forceReplace" : "forceUpdate")', which compares none")
        }
        return ValidOperation(
            operationType: type, recordName: name, recordType: record.recordType,
            recordChangeTag: record.recordChangeTag, fields: try fields(record.fields, of: name, record.recordType),
            parent: try parent(record.parent, of: name), share: try share(record.share, of: name),
            createsShortGUID: record.createShortGUID, keys: record.keys, keep: record.keep)
    }

    private func recordName(
        _ name: String?, for type: RecordOperation.OperationType, makeRecordName: () -> String
    ) throws(ServiceError) -> String {
        guard let name else {
            if type == .create { return makeRecordName() }
            throw .invalid("operation '\(type.rawValue)' needs a recordName")
        }
        let resolved = user.resolve(name)
        if resolved != user.userRecordName { try RecordName.check(resolved) }
        return resolved
    }

    private func checkType(
        _ record: RecordToModify, name: String, for type: RecordOperation.OperationType
    ) throws(ServiceError) {
        if name == SystemRecordName.zoneWideShare, record.recordType ?? SystemRecordType.share != SystemRecordType.share
        {
            throw .invalid("the recordName '\(name)' is that of the share of a whole zone")
        }
        guard let recordType = record.recordType else {
            if type.needsRecordType {
                throw .invalid("operation '\(type.rawValue)' of record '\(name)' needs a recordType")
            }
            return
        }
        if recordType == SystemRecordType.user {
            if name != user.userRecordName, !RecordName.isSystems(name) {
                throw .invalid("records of the type 'Users' are made by the system")
            }
            if !ZoneRules.isDefault(zone.zoneName) {
                throw .invalid("the user record is in the default zone, and not in '\(zone.zoneName)'")
            }
        } else if recordType == SystemRecordType.share {
            if scope == .public { throw .badDatabase("the public database holds no shares: record '\(name)'") }
            try ZoneRules.checkCanBeShared(zone.zoneName)
            if record.parent != .keep { throw .invalid("the share '\(name)' cannot have a parent") }
        } else if !Identifier.isValid(recordType) {
            throw .invalid(
                "recordType '\(Identifier.excerpt(recordType))' of record '\(name)' must be a letter followed by letters,"
                    + " digits and underscores, at most \(Limits.identifierLength)")
        }
    }

    private func share(_ share: ShareToModify?, of name: String) throws(ServiceError) -> ShareToModify? {
        guard let share else { return nil }
        let participants = share.participants ?? []
        if participants.count > Limits.listedParticipants { throw .tooManyParticipants }
        for (list, identities) in [("requesters", share.requesters), ("blocked", share.blocked)] {
            guard let identities, identities.count > Limits.listedParticipants else { continue }
            throw .limitExceeded(
                "number of \(list) of the share '\(name)' exceeds the limit of \(Limits.listedParticipants)")
        }
        for participant in participants {
            let info = participant.userIdentity.lookupInfo
            for address in [info?.emailAddress, info?.phoneNumber] {
                guard let address, address.unicodeScalars.count > Limits.invitationAddressLength else { continue }
                throw .invalid(
                    "an address of a participant of the share '\(name)' is longer than"
                        + " \(Limits.invitationAddressLength) characters: '\(Identifier.excerpt(address))'")
            }
        }
        return share
    }

    private func fields(
        _ fields: RecordFields, of name: String, _ recordType: String?
    ) throws(ServiceError) -> RecordFields {
        var fields = fields
        for entry in fields.entries {
            if entry.name.utf8.first == UInt8(ascii: "_") {
                // The reason has Apple's wording, which developers know.
                throw ServiceError(
                    .accessDenied, .permissionFailure,
                    "Unprivileged attempt to insert a system field: \(Identifier.excerpt(entry.name)) (record '\(name)')"
                )
            }
            // An update may omit the record type; then the stored record's type decides.
            let isOfShare =
                (recordType ?? SystemRecordType.share) == SystemRecordType.share
                && SystemRecordType.shareFields[entry.name] != nil
            guard isOfShare || Identifier.isValid(entry.name) else {
                throw .invalid(
                    "field '\(Identifier.excerpt(entry.name))' of record '\(name)' must be a letter followed by letters,"
                        + " digits and underscores, at most \(Limits.identifierLength)")
            }
            if entry.field.isEncrypted && scope == .public {
                throw .encryptedInPublicDatabase
            }
            guard let value = entry.field.value else { continue }
            if let local = try keepingInZone(value, field: entry.name, of: name) {
                fields[entry.name] = Field(
                    local, hasDeclaredType: entry.field.hasDeclaredType, isEncrypted: entry.field.isEncrypted)
            }
        }
        if let problem = fields.problem { throw .invalid("record '\(name)': \(problem)") }
        try RecordSize.check(fields, of: name)
        return fields
    }

    /// The name of the first field that only shares may have (`CKShare.SystemFieldKey`); nil if there is no such field.
    static func shareField(in fields: RecordFields) -> String? {
        // An app's names have no dot, so most fields need no look-up.
        fields.entries.first { $0.name.hasPrefix("cloudkit.") && SystemRecordType.shareFields[$0.name] != nil }?.name
    }

    /// The value as it is stored: references into the record's own zone omit the zone, and a placeholder for the
    /// current user is replaced by the user's record name. Nil if the value stays as it is.
    private func keepingInZone(
        _ value: FieldValue, field: String, of name: String
    ) throws(ServiceError) -> FieldValue? {
        switch value {
        case .reference(let reference):
            if reference.zoneID == nil && !user.isPlaceholder(reference.recordName) {
                try checkTarget(reference, field: field, of: name)
                return nil
            }
            return .reference(try inZone(reference, field: field, of: name))
        case .list(of: .reference, let elements):
            var local: [FieldValue] = []
            local.reserveCapacity(elements.count)
            for element in elements {
                guard case .reference(let reference) = element else { continue }
                local.append(.reference(try inZone(reference, field: field, of: name)))
            }
            return .list(of: .reference, local)
        default:
            return nil
        }
    }

    private func inZone(
        _ reference: ReferenceValue, field: String, of name: String
    ) throws(ServiceError) -> ReferenceValue {
        var reference = user.resolve(reference)
        if let target = reference.zoneID, !zone.isNamed(by: target, user) {
            throw .invalid(
                "reference '\(field)' of record '\(name)' points into the zone '\(target.zoneName)'; a reference stays in"
                    + " its record's zone, '\(zone.zoneName)'")
        }
        reference.zoneID = nil
        try checkTarget(reference, field: field, of: name)
        return reference
    }

    private func checkTarget(_ reference: ReferenceValue, field: String, of name: String) throws(ServiceError) {
        guard !reference.recordName.isEmpty, reference.recordName.utf8.count <= Limits.recordNameLength else {
            throw .invalid("reference '\(field)' of record '\(name)' has no usable recordName")
        }
    }

    private func parent(_ parent: ReferenceChange, of name: String) throws(ServiceError) -> ReferenceChange {
        guard case .set(let reference) = parent else { return parent }
        try ReferenceRules.checkAction(reference.action, of: name)
        return .set(try inZone(reference, field: "parent", of: name))
    }
}
