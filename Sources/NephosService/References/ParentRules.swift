import NephosStorage

/// The references whose target has to exist, and that keep their target from being deleted alone.
///
/// "The parent record must exist on the server when you save the child, or must be part of the same save operation.
/// Otherwise, the operation fails" (`CKRecord.parent`, Apple's documentation); the same holds for `deleteSelf`, whose
/// target owns the record, and for `VALIDATE`. A record cannot be deleted while another that stays has it as its parent
/// or validates it. A plain reference may dangle.
enum ParentRules {
    /// The kinds whose target must exist when the reference is saved.
    static func demandsTarget(_ kind: ReferenceRow.Kind) -> Bool {
        switch kind {
        case .parent, .deleteSelf, .validate: true
        case .share: false
        }
    }

    /// The kinds that forbid the deletion of their target while their source stays.
    static let holding: [ReferenceRow.Kind] = [.parent, .validate]

    static func missingTarget(_ edge: ReferenceEdge, of name: String) -> ServiceError {
        let what = edge.kind == .parent ? "parent" : "reference"
        return .referenceViolation(
            "record '\(name)' has a \(what) to '\(edge.target)', which does not exist; save it first or in the same batch"
        )
    }

    static func held(_ name: String, by source: String) -> ServiceError {
        .referenceViolation(
            "Record delete would violate validating reference: recordID=\(name) is still referenced by '\(source)'")
    }
}
