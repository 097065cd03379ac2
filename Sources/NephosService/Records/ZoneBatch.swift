import NephosStorage
import NephosWire

/// A batch's operations on one zone: what they are decided with, and written with.
struct ZoneBatch {
    let zone: ZoneRow
    let merge: FieldMerge
    let isAtomic: Bool
    let containerEnvironment: ContainerEnvironment
    let caller: Caller
    let indexes: IndexWriter
    /// Where changes are noted for subscribers; nil without any.
    let changes: RecordChanges?
    let reader: StorageReader
    /// What the caller sees of the zone, where it is another's.
    let shared: SharedZone?
    /// Whether the caller can wrap keys of encrypted values: our own library can.
    let knowsKeys: Bool
    /// The names of the records that the operations are about.
    let names: Set<String>
    /// Where the shares are noted whose participants are to be notified.
    let sharedChanges: SharedChanges
    let environment: ServiceEnvironment
    let invitations: InvitationCount
    /// What was found of large cascades before the write began.
    let found: FoundCascades
    /// A new change sequence.
    let makeSequence: () throws -> Int64

    /// Whether the deletion of a record of the type depends on its fields, besides for the files that it refers to.
    func looksAtFields(ofType recordType: String) -> Bool {
        indexes.definitions[recordType] != nil || changes?.watches(recordType) ?? false
    }

    /// What a new share's URL ends in, or that of one of its participants.
    func makeShortGUID() -> String { ShortGUID.make(environment, in: caller.storeID) }
}
