import NephosStorage
import NephosWire

/// The erasure of the records that a deleted account created in the public database. As no index has the creator, each
/// step reads on in the order of change sequences; records change behind it only by others, who leave the creator as it
/// is, and advance to sequences that the steps still read.
struct PublicErasure: Hashable {
    private static let prefix = "public "

    /// The change sequence up to which the records are erased.
    let after: Int64

    init(after: Int64) { self.after = after }

    /// - Parameter subject: the subject of a job; nil unless the job erases public records.
    init?(subject: String) {
        guard subject.hasPrefix(Self.prefix), let after = Int64(subject.dropFirst(Self.prefix.count)) else {
            return nil
        }
        self.init(after: after)
    }

    var subject: String { Self.prefix + String(after) }

    /// - Parameter limit: the maximum number of records that the step deletes.
    /// - Returns: the rest; nil if no record is left. And whether change events were stored.
    func step(
        of erasure: AccountErasure, limit: Int, in transaction: StorageTransaction
    ) throws -> (rest: PublicErasure?, leftEvents: Bool) {
        guard let zone = try transaction.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName) else {
            return (nil, false)
        }
        let rows = try transaction.records(
            zone: zone.key, after: after, limit: limit, size: Limits.exportedBytes)
        guard let last = rows.last else { return (nil, false) }
        let own = rows.filter {
            !$0.isDeleted && $0.createdBy == erasure.account.id && $0.type != SystemRecordType.user
        }
        let leftEvents = own.isEmpty ? false : try erasure.delete(own, of: zone, in: transaction)
        return (PublicErasure(after: last.sequence), leftEvents)
    }
}
