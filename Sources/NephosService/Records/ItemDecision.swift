import NephosStorage
import NephosWire

/// The decision for one item of a batch.
enum ItemDecision {
    // Boxed: decisions are passed around, and a planned save is large.
    indirect case save(PlannedSave)
    case delete(RecordRow)
    /// The caller leaves the share of the record.
    case leave(RecordRow)
    /// There is nothing to delete, which is a success.
    case nothing
    case refuse(ServiceError, server: RecordRow?)

    var isRefusal: Bool {
        if case .refuse = self { return true }
        return false
    }
}

/// The record after the save; its sequence is assigned when it is written.
struct PlannedSave {
    var row: RecordRow
    /// The stored record; nil for a new one.
    var stored: RecordRow?
    /// The sent fields, for the schema.
    var fields: RecordFields
    var oldEdges: Set<ReferenceEdge>
    var newEdges: Set<ReferenceEdge>
    /// Whether `fields` are all fields of the saved record.
    var isWhole: Bool
    /// Whether the save drops some fields that were not sent and keeps others.
    var keepsSome = false
    /// The caller's uploads that the save transfers to the database.
    var uploads: [AssetRow] = []
    /// The keys of the save's encrypted values.
    var keys: [KeyRow] = []
    /// Keys that no value of the record needs any more.
    var droppedKeys: [KeyRow] = []
    /// The record's key use, until the needed keys are known.
    var keyUse: RecordKeyUse?

    /// Whether a record that the caller cannot see has the name: then the save is refused, after all other checks
    /// passed.
    var isNameTaken = false

    /// The field values that index maintenance need not decode again.
    var known: KnownFields { isWhole ? .all(fields) : keepsSome ? .none : .sent(fields) }
}
