import NephosStorage
import NephosWire

/// Decides each operation on its own, by permissions, save policy, files, keys and schema.
extension ZoneBatch {
    func decide(
        _ operation: Result<ValidOperation, ServiceError>, _ known: [[UInt8]: RecordRow],
        _ permissions: RecordPermissions,
        _ draft: inout JustInTimeSchema
    ) throws -> ItemDecision {
        var valid: ValidOperation
        switch operation {
        case .success(let operation): valid = operation
        case .failure(let error): return .refuse(error, server: nil)
        }
        let found = known[Array(valid.recordName.utf8)]
        if found?.isDamaged == true { return .refuse(.damagedRecord, server: nil) }
        var stored = found.flatMap { $0.isDeleted ? nil : $0 }
        let isNameTaken = try stored != nil && !isVisible(valid.recordName)
        if isNameTaken { stored = nil }
        if let root = stored, shared != nil, root.share != nil {
            if let error = try refusalToMove(root, valid) { return .refuse(error, server: nil) }
            valid.parent = root.parent.map { .set(ReferenceValue(recordName: $0)) } ?? .keep
        }
        let standing = stored == nil ? nil : try shared?.standing(on: valid.recordName, reader)
        do {
            try permissions.check(valid, stored: stored)
            // A caller that may not read the record learns only that its name is taken.
            if valid.operationType == .create, let stored, !permissions.mayRead(stored) {
                return .refuse(.recordExists, server: nil)
            }
            return try decide(
                valid, SavePolicy.decide(valid.asShareIfShare(stored), stored: stored), isNameTaken: isNameTaken,
                standing, permissions, &draft)
        } catch let error as ServiceError {
            return .refuse(error, server: nil)
        }
    }

    private func decide(
        _ operation: ValidOperation, _ decision: SaveDecision, isNameTaken: Bool,
        _ standing: ShareAccess.Standing?, _ permissions: RecordPermissions, _ draft: inout JustInTimeSchema
    ) throws -> ItemDecision {
        switch decision {
        case .insert:
            var new = try save(operation, nil, &draft)
            new.isNameTaken = isNameTaken
            return .save(new)
        case .merge(let stored): return .save(try save(operation, stored, &draft))
        case .replace(let stored): return .save(try save(operation, stored, &draft, replaces: true))
        case .delete(let stored): return try delete(stored, standing)
        case .nothingToDelete: return .nothing
        case .refuse(let error, let server):
            return .refuse(error, server: server.flatMap { permissions.mayRead($0) ? $0 : nil })
        }
    }

    /// The refusal of a participant's change of a shared root's parent; nil if the parent is not set. A participant
    /// must not learn the parent, so it stays, and naming any invisible record gets the same error.
    private func refusalToMove(_ root: RecordRow, _ operation: ValidOperation) throws -> ServiceError? {
        guard case .set(let parent) = operation.parent else { return nil }
        return try isVisible(parent.recordName)
            ? .shareRefusal("only the owner may move records out of what is shared")
            : ReferenceRules.missingTarget(ReferenceEdge(target: parent.recordName, kind: .parent), of: root.name)
    }

    /// - Parameter standing: the caller's standing on the record; nil if the caller owns the zone.
    private func delete(
        _ stored: RecordRow, _ standing: ShareAccess.Standing?
    ) throws(ServiceError) -> ItemDecision {
        guard let standing else { return .delete(stored) }
        let isShare = stored.type == SystemRecordType.share
        let subject: ShareAccess.Subject = isShare ? .share : stored.share != nil ? .root : .record
        switch ShareAccess.decide(.delete, on: subject, by: standing) {
        case .allowed: return isShare ? .leave(stored) : .delete(stored)
        case .invisible: throw .recordNotFound
        case .refused(let reason): throw .shareRefusal(reason)
        }
    }

    private func save(
        _ operation: ValidOperation, _ stored: RecordRow?, _ draft: inout JustInTimeSchema, replaces: Bool = false
    ) throws -> PlannedSave {
        let type = operation.recordType ?? stored?.type ?? ""
        if type != SystemRecordType.share, let name = RecordValidation.shareField(in: operation.fields) {
            throw ServiceError.invalid("only shares have the field '\(name)': record '\(operation.recordName)'")
        }
        let sent = try AssetAdmission(access: caller.assets, zone: zone.key, scope: caller.scope, reader: reader)
            .admit(operation.fields, of: operation.recordName, stored: stored)
        let keyUse = try EncryptionAdmission(zone: zone.key, scope: caller.scope, reader: reader).admit(operation)
        let fields = try draft.admit(sent.fields, ofRecordOf: type)
        let row: RecordRow
        if let stored {
            row =
                replaces
                ? try merge.replaced(operation, stored, type: type, fields: fields)
                : merge.merged(operation, into: stored, fields: fields)
        } else {
            row = merge.inserted(operation, type: type, fields: fields)
        }
        try FieldMerge.checkSize(row)
        if sent.hasAssets { try AssetAdmission.checkCount(row) }
        if let quotaRefusal, row.fields.count > stored?.fields.count ?? -1 { throw quotaRefusal }
        let keepsSome = stored != nil && replaces && !operation.keep.isEmpty
        return PlannedSave(
            row: row, stored: stored, fields: fields, oldEdges: stored.map { ReferenceGraph.edges(of: $0) } ?? [],
            newEdges: ReferenceGraph.edges(of: row),
            isWhole: (stored == nil || replaces) && !keepsSome, keepsSome: keepsSome, uploads: sent.uploads,
            keyUse: keyUse)
    }
}

extension ValidOperation {
    /// The operation, changed to compare the change tag if the record is a share: shares are always saved only if they
    /// are unchanged on the server (`CKShare`, Apple's documentation).
    fileprivate func asShareIfShare(_ stored: RecordRow?) -> ValidOperation {
        guard isOfShare || stored?.type == SystemRecordType.share else { return self }
        var operation = self
        switch operationType {
        case .forceUpdate: operation.operationType = stored == nil ? .create : .update
        case .forceReplace: operation.operationType = stored == nil ? .create : .replace
        case .create, .update, .replace, .delete, .forceDelete: break
        }
        return operation
    }
}
