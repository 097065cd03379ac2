import NephosStorage
import NephosWire

/// A batch's operations on one zone: the inputs to decide and write them.
struct ZoneBatch {
    let zone: ZoneRow
    let merge: FieldMerge
    let isAtomic: Bool
    let containerEnvironment: ContainerEnvironment
    let caller: Caller
    let indexes: IndexWriter
    /// Collects changes for subscribers; nil if there are none.
    let changes: RecordChanges?
    let reader: StorageReader
    /// The caller's view of the zone if another account owns it.
    let shared: SharedZone?
    /// Whether the caller can wrap keys of encrypted values, as our own library can.
    let knowsKeys: Bool
    /// The names of the operations' records.
    let names: Set<String>
    /// Collects the shares whose participants must be notified.
    let sharedChanges: SharedChanges
    let environment: ServiceEnvironment
    let invitations: InvitationCount
    /// The large cascades found before the write began.
    let found: FoundCascades
    /// Makes a new change sequence.
    let makeSequence: () throws -> Int64

    /// Whether deleting a record of the type depends on its fields, apart from its references to files.
    func looksAtFields(ofType recordType: String) -> Bool {
        indexes.definitions[recordType] != nil || changes?.watches(recordType) ?? false
    }

    /// A new last part for the URL of a share or of one of its participants.
    func makeShortGUID() -> String { ShortGUID.make(environment, in: caller.storeID) }
}
