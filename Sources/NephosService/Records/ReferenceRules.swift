import NephosStorage
import NephosWire

/// The rules for references whose target must exist, and for references that prevent the deletion of their target.
///
/// "The parent record must exist on the server when you save the child, or must be part of the same save operation.
/// Otherwise, the operation fails" (`CKRecord.parent`, Apple's documentation). The same applies to `deleteSelf`, whose
/// target owns the record, and to `VALIDATE`. A record cannot be deleted while a remaining record has it as its parent
/// or validates it. In the public database only records of the same creator count, so that no account can prevent
/// others from deleting their own records. The target of a plain reference need not exist.
enum ReferenceRules {
    /// Whether the target must exist when a reference of this kind is saved.
    static func demandsTarget(_ kind: ReferenceRow.Kind) -> Bool {
        switch kind {
        case .parent, .deleteSelf, .validate: true
        case .share: false
        }
    }

    /// Checks the rule "The action must be `CKRecord.ReferenceAction.none`" (`CKRecord.parent`, Apple's documentation).
    static func checkAction(_ action: ReferenceValue.Action, of name: String) throws(ServiceError) {
        if action != .none { throw .invalid("the parent reference of record '\(name)' must have the action NONE") }
    }

    static func missingTarget(_ edge: ReferenceEdge, of name: String) -> ServiceError {
        let what = edge.kind == .parent ? "parent" : "reference"
        return .referenceViolation(
            "record '\(name)' has a \(what) to '\(edge.target)', which does not exist; save it first or in the same batch"
        )
    }

    /// The error for too many owned records, in the wording of Apple's service.
    static func tooManySources(of target: String) -> ServiceError {
        .limitExceeded(
            "Limit exceeded for number of owning references to single record: at most \(Limits.deleteSelfSources) may"
                + " point at '\(target)' with DELETE_SELF, of the public database's those of one creator")
    }

    static let tooManySourcesCounted = ServiceError.limitExceeded(
        "the targets of the request's DELETE_SELF references have more than \(Limits.sourcesPerBatch) such references"
            + " together: save fewer records in a request")

    /// - Parameters:
    ///   - source: the record that prevents the deletion; nil if the caller must not know it.
    ///   - owned: the held record, if the deletion would cascade to it; nil if the deleted record itself is held.
    static func held(_ name: String, by source: String?, through owned: String? = nil) -> ServiceError {
        let holder = source.map { "'\($0)'" } ?? "another record"
        let along = owned.map { " takes '\($0)' along, which" } ?? ""
        return .referenceViolation(
            "Record delete would violate validating reference: recordID=\(name)\(along) is still referenced by \(holder)"
        )
    }

    /// The reason that a record cannot have its new parent: the parent is a descendant of the record, or the record
    /// gets too many ancestors. Nil if it can have that parent.
    static func circle(_ save: PlannedSave, _ chains: ParentChains) throws -> ServiceError? {
        switch try chains.end(of: save) {
        case .itself: return .invalid("the parent of record '\(save.row.name)' is one of its own descendants")
        case .tooDeep: return tooDeep
        // The saves of the circle's records are refused, so this record's parent is then missing.
        case .circle: return nil
        case .root(let count):
            guard save.stored != nil, count > 0 else { return nil }
            return try ChainLength(chains: chains).error(moving: save, under: count)
        }
    }

    static let tooDeep = ServiceError.limitExceeded("a chain of parents has at most \(Limits.parentDepth) records")
}

extension PlannedSave {
    /// The references of this save whose target must exist: the new references of kinds that demand a target.
    var demandedTargets: [ReferenceEdge] {
        if newEdges.isEmpty { return [] }
        return newEdges.subtracting(oldEdges).filter { ReferenceRules.demandsTarget($0.kind) }
    }
}
