import NephosStorage
import NephosWire

/// The decision for one item of a batch.
enum ItemDecision {
    // The save is boxed, because decisions are passed around and a planned save is large.
    indirect case save(PlannedSave)
    case delete(RecordRow)
    /// A participant deletes this share record, so the participant leaves the share.
    case leave(RecordRow)
    /// The record does not exist. Its deletion is a success.
    case nothing
    case refuse(ServiceError, server: RecordRow?)

    var isRefusal: Bool {
        if case .refuse = self { return true }
        return false
    }
}

/// A save that is decided but not written. The sequence of `row` is assigned when the record is written.
struct PlannedSave {
    var row: RecordRow
    /// The stored record; nil for a new record.
    var stored: RecordRow?
    /// The sent fields, from which the schema may grow.
    var fields: RecordFields
    var oldEdges: Set<ReferenceEdge>
    var newEdges: Set<ReferenceEdge>
    /// Whether `fields` contains all fields of the saved record.
    var isWhole: Bool
    /// Whether the save keeps some of the stored fields that were not sent and drops others.
    var keepsSome = false
    /// The caller's unsaved uploads that the save moves into the database.
    var uploads: [AssetRow] = []
    /// The record keys to store with the save.
    var keys: [KeyRow] = []
    /// The stored record keys that no value of the record needs any more.
    var droppedKeys: [KeyRow] = []
    /// The record keys that the save brings and uses; nil if it has no encrypted values and brings no keys.
    var keyUse: RecordKeyUse?

    /// Whether the name belongs to a record that the caller cannot see. The save is then refused after all other checks
    /// have passed.
    var isNameTaken = false

    /// The field values in decoded form, so that index maintenance need not decode them again.
    var known: KnownFields { isWhole ? .all(fields) : keepsSome ? .none : .sent(fields) }
}
