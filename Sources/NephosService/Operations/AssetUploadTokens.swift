import NephosStorage
import NephosWire

/// `assets/upload`: creates one upload address per file. Each address is valid for one field of one record that the
/// caller may save.
struct AssetUploadTokens {
    let request: AssetUploadRequest
    let caller: Caller

    func validate() throws(ServiceError) {
        guard !request.tokens.isEmpty else { throw .invalid("tokens must not be empty") }
        if request.tokens.count > Limits.uploadTokensPerRequest {
            throw .limitExceeded(
                "number of tokens exceeds the limit of \(Limits.uploadTokensPerRequest): \(request.tokens.count)")
        }
        for token in request.tokens {
            if token.isSealed, caller.scope == .public { throw .sealedInPublic(field: token.fieldName) }
            if let name = token.recordName, name != caller.userRecordName { try RecordName.check(name) }
            guard Identifier.isValid(token.fieldName) else {
                throw .invalid("fieldName '\(Identifier.excerpt(token.fieldName))' is no name of a field")
            }
            guard let type = token.recordType else {
                if token.recordName == nil { throw .noTypeOfUpload(field: token.fieldName) }
                continue
            }
            guard Identifier.isValid(type) || type == SystemRecordType.share else {
                throw .invalid("recordType '\(Identifier.excerpt(type))' is no name of a record type")
            }
        }
    }

    func run(
        _ permissions: RecordPermissions, makeRecordName: () -> String, _ reader: StorageReader
    ) throws -> AssetUploadResponse {
        let address = caller.address(request.zoneID)
        guard let zone = try ZoneRegistry.find(address, caller, reader) else {
            throw try ZoneRegistry.notFound(address, caller, .toSave, reader)
        }
        return AssetUploadResponse(
            tokens: try request.tokens.map { field -> AssetUploadResponse.Result in
                let name = field.recordName ?? makeRecordName()
                do {
                    return .token(try token(field, recordName: name, in: zone, permissions, reader))
                } catch let error as ServiceError {
                    var dictionary = error.dictionary(requestID: caller.requestID)
                    dictionary.recordName = name
                    return .failure(dictionary)
                }
            })
    }

    private func token(
        _ field: AssetField, recordName: String, in zone: FoundZone, _ permissions: RecordPermissions,
        _ reader: StorageReader
    ) throws -> AssetUploadResponse.Token {
        if let error = try RecordName.refusalOfSystems(recordName, caller, reader) { throw error }
        try AssetRules.checkMaySave(
            field, recordName: recordName, in: zone, isNew: field.recordName == nil, permissions, reader)
        let target = AssetTarget(
            zone: zone.key, account: caller.assets.account, recordName: recordName, fieldName: field.fieldName)
        return AssetUploadResponse.Token(
            recordName: recordName, fieldName: field.fieldName,
            url: caller.assets.uploadURL(
                for: target, isPrivate: caller.scope != .public, isSealed: field.isSealed, session: caller.session))
    }
}

/// The permissions for assets: an account may upload a file for a field if it may save the record, and may rereference
/// a file if it may read the record. The save itself is authorised again; this check refuses the files of accounts that
/// may not save.
enum AssetRules {
    static func checkMaySave(
        _ field: AssetField, recordName: String, in zone: FoundZone, isNew: Bool, _ permissions: RecordPermissions,
        _ reader: StorageReader
    ) throws {
        var stored = isNew ? nil : try reader.record(zone: zone.key, named: recordName)
        if let shared = zone.shared {
            // A record that the account cannot see counts as new, so this checks whether the account may create it.
            if stored != nil, try !shared.mayRead(recordName, reader) { stored = nil }
            let standings =
                stored == nil ? shared.participations.map(\.standing) : [try shared.standing(on: recordName, reader)]
            let decisions = standings.map {
                ShareAccess.decide(stored == nil ? .create : .change, on: .record, by: $0)
            }
            if !decisions.contains(.allowed) {
                guard case .refused(let reason) = decisions.first else { throw ServiceError.recordNotFound }
                throw ServiceError.shareRefusal(reason)
            }
        }
        // An update has no type, and does not tell whether there is a record that the account may not read.
        if field.recordType == nil, stored.map({ $0.isDeleted || !permissions.mayRead($0) }) ?? true {
            throw ServiceError.noTypeOfUpload(field: field.fieldName)
        }
        try permissions.check(
            ValidOperation(
                operationType: .forceUpdate, recordName: recordName, recordType: field.recordType,
                recordChangeTag: nil, fields: RecordFields(), parent: .keep),
            stored: stored.flatMap { $0.isDeleted ? nil : $0 })
    }

    /// The assets of a field, if the caller may read the field's record.
    /// - Throws: `recordNotFound` if the caller may not read the record.
    static func assets(
        of field: AssetField, in zone: FoundZone, _ permissions: RecordPermissions, _ reader: StorageReader
    ) throws -> [AssetValue] {
        guard let name = field.recordName else { throw ServiceError.invalid("an asset needs its recordName") }
        guard let row = try reader.record(zone: zone.key, named: name), !row.isDeleted,
            try zone.mayRead(name, reader), permissions.mayRead(row)
        else {
            throw ServiceError.recordNotFound
        }
        return EncodedFields(bytes: row.fields).assets().filter { $0.name == field.fieldName }.map(\.value)
    }
}

extension ServiceError {
    fileprivate static func noTypeOfUpload(field: String) -> ServiceError {
        .invalid("the token of field '\(field)' needs the recordType of the new record")
    }
}
