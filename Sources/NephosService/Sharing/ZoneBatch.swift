import NephosStorage
import NephosWire

/// The operations of a batch on one zone, with everything that is needed to decide and write them.
struct ZoneBatch {
    let zone: ZoneRow
    let merge: FieldMerge
    let isAtomic: Bool
    let caller: Caller
    let indexes: IndexWriter
    /// Collects the changes for subscribers; nil if the database has no subscriber.
    let changes: RecordChanges?
    let reader: StorageReader
    /// The caller's view of the zone if another account owns it; otherwise nil.
    let shared: SharedZone?
    /// Whether the caller can wrap keys of encrypted values, as our own library can.
    let knowsKeys: Bool
    /// The names of the records that the operations name.
    let names: Set<String>
    /// Collects the shares and accounts that must be notified.
    let sharedChanges: SharedChanges
    let environment: ServiceEnvironment
    let invitations: InvitationCount
    let deviceLists: DeviceLists
    let storedParents: StoredParents
    /// The large cascades that were found before the write began.
    let found: FoundCascades
    /// The refusal of saves that make the owner's database larger; nil while it has quota left.
    let quotaRefusal: ServiceError?
    /// Returns a new change sequence.
    let makeSequence: () throws -> Int64

    /// Whether the deletion of a record of this type needs the record's fields, apart from their references to files.
    func looksAtFields(ofType recordType: String) -> Bool {
        indexes.definitions[recordType] != nil || changes?.watches(recordType) ?? false
    }

    /// Returns a new last part for the URL of a share or of one of its participants.
    func makeShortGUID() -> String { ShortGUID.make(environment, in: caller.storeID) }
}
