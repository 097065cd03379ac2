import NephosStorage
import NephosWire

/// What is to be done for one item of a batch.
enum ItemDecision {
    // Boxed: decisions are passed around, and a planned save is many words.
    indirect case save(PlannedSave)
    case delete(RecordRow)
    /// The caller leaves the share that the record is of.
    case leave(RecordRow)
    /// Nothing to delete, and that is all right.
    case nothing
    case refuse(ServiceError, server: RecordRow?)

    var isRefusal: Bool {
        if case .refuse = self { return true }
        return false
    }
}

/// A record as a save will leave it; its sequence is given when it is written.
struct PlannedSave {
    var row: RecordRow
    /// The record as it is stored; nil where it is new.
    var stored: RecordRow?
    /// The fields that were sent, for the schema.
    var fields: RecordFields
    var oldEdges: Set<ReferenceEdge>
    var newEdges: Set<ReferenceEdge>
    /// Whether `fields` are all that the record will have.
    var isWhole: Bool
    /// Whether the record loses fields that were not sent, and keeps others.
    var keepsSome = false
    /// The caller's uploads that become the database's with it.
    var uploads: [AssetRow] = []
    /// The keys of encrypted values that it brings along.
    var keys: [KeyRow] = []
    /// Those of which the record has no value any more.
    var droppedKeys: [KeyRow] = []
    /// What it has to do with keys, until it is known which are needed.
    var keyUse: RecordKeyUse?

    /// Whether a record that the caller does not see has the name: then the save is refused, once nothing else refuses it.
    var isNameTaken = false

    /// What the indexes need not read again.
    var known: KnownFields { isWhole ? .all(fields) : keepsSome ? .none : .sent(fields) }
}
