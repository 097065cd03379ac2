import NephosStorage
import NephosWire

/// References whose target must exist, and references that keep their target from being deleted alone.
///
/// "The parent record must exist on the server when you save the child, or must be part of the same save operation.
/// Otherwise, the operation fails" (`CKRecord.parent`, Apple's documentation); the same holds for `deleteSelf`, whose
/// target owns the record, and for `VALIDATE`. A record cannot be deleted while another that stays has it as its parent
/// or validates it. In the public database only records of the same creator count, so that no account can keep others
/// from deleting their own records. A plain reference may dangle.
enum ReferenceRules {
    /// Whether the target must exist when a reference of this kind is saved.
    static func demandsTarget(_ kind: ReferenceRow.Kind) -> Bool {
        switch kind {
        case .parent, .deleteSelf, .validate: true
        case .share: false
        }
    }

    /// "The action must be `CKRecord.ReferenceAction.none`" (`CKRecord.parent`, Apple's documentation).
    static func checkAction(_ action: ReferenceValue.Action, of name: String) throws(ServiceError) {
        if action != .none { throw .invalid("the parent reference of record '\(name)' must have the action NONE") }
    }

    static func missingTarget(_ edge: ReferenceEdge, of name: String) -> ServiceError {
        let what = edge.kind == .parent ? "parent" : "reference"
        return .referenceViolation(
            "record '\(name)' has a \(what) to '\(edge.target)', which does not exist; save it first or in the same batch"
        )
    }

    /// In the wording of Apple's service.
    static func tooManySources(of target: String) -> ServiceError {
        .limitExceeded(
            "Limit exceeded for number of owning references to single record: at most \(Limits.deleteSelfSources) may"
                + " point at '\(target)' with DELETE_SELF, of the public database's those of one creator")
    }

    /// - Parameters:
    ///   - source: nil if the caller must not know it.
    ///   - owned: the held record, if the deletion would cascade to it.
    static func held(_ name: String, by source: String?, through owned: String? = nil) -> ServiceError {
        let holder = source.map { "'\($0)'" } ?? "another record"
        let along = owned.map { " takes '\($0)' along, which" } ?? ""
        return .referenceViolation(
            "Record delete would violate validating reference: recordID=\(name)\(along) is still referenced by \(holder)"
        )
    }

    /// Why a record cannot have its new parent: it is its own descendant, or has too many ancestors. Nil if it can.
    /// - Parameter parents: the parents of the records that the batch saves.
    static func circle(
        _ save: PlannedSave, _ parents: [String: String?], _ reader: StorageReader
    ) throws -> ServiceError? {
        var current = save.row.parent
        var count = 0
        var seen: Set<String> = []
        while let step = current {
            if step == save.row.name {
                return .invalid("the parent of record '\(step)' is one of its own descendants")
            }
            // A cycle of other records is refused at those; then this record's parent is missing.
            if !seen.insert(step).inserted { return nil }
            count += 1
            if count > Limits.parentDepth {
                return tooDeep
            }
            current = try parents[step] ?? reader.record(zone: save.row.zone, named: step)?.parent
        }
        guard save.stored != nil, count > 0 else { return nil }
        return try ChainLength(zone: save.row.zone, parents: parents, reader: reader).error(moving: save, under: count)
    }

    static let tooDeep = ServiceError.limitExceeded("a chain of parents has at most \(Limits.parentDepth) records")
}

extension PlannedSave {
    /// The references whose target must exist for this save: new ones of the kinds that demand it.
    var demandedTargets: [ReferenceEdge] {
        if newEdges.isEmpty { return [] }
        return newEdges.subtracting(oldEdges).filter { ReferenceRules.demandsTarget($0.kind) }
    }
}
