import NephosStorage
import NephosWire

/// The last stage of a feed: encodes the changes of a page in the client's format.
protocol FeedEncoder {
    func add(change record: RecordRowView, _ projection: RecordProjection) throws
    /// Delivers the encoded changes. No change may be added afterwards.
    func finish(into changes: inout RecordZoneChanges) throws
}

/// Encodes changes as record dictionaries.
extension RecordEncoder: FeedEncoder {
    func add(change record: RecordRowView, _ projection: RecordProjection) throws {
        guard record.isDeleted, !record.isDamaged else { return try add(record, projection) }
        add(
            .deleted(
                DeletedRecord(
                    recordName: String(decoding: record.name, as: UTF8.self),
                    recordType: String(decoding: record.type, as: UTF8.self))))
    }

    func finish(into changes: inout RecordZoneChanges) throws {
        (changes.records, changes.encodedRecords) = try finish()
    }
}

/// Encodes changes as packed records, a format of the Nephos library (`PackedRecords`). Shares have members that the
/// format lacks, so they are encoded as dictionaries.
final class PackedRecordEncoder: FeedEncoder {
    private let users: UserNames
    private let shares: RecordEncoder
    private var writer: PackedRecordsWriter

    /// - Parameter size: the approximate number of bytes of records for which to reserve memory.
    init(reserving size: Int, _ accounts: Accounts, _ reader: StorageReader, _ caller: Caller) {
        users = UserNames(accounts, reader, own: caller.account)
        shares = RecordEncoder(encoded: false, reserving: 0, accounts, reader, caller)
        writer = PackedRecordsWriter(reserving: size)
    }

    func add(change record: RecordRowView, _ projection: RecordProjection) throws {
        if record.isDamaged {
            writer.unreadable(name: record.name, reason: ServiceError.damagedRecord.reason)
        } else if record.isDeleted {
            writer.deleted(name: record.name, type: record.type)
        } else if record.isShare {
            try shares.add(record, projection)
        } else {
            try projection.write(record, users, to: &writer)
        }
    }

    func finish(into changes: inout RecordZoneChanges) throws {
        try AnswersInMemory.check(writer.count)
        var written = PackedRecordsWriter(reserving: 0)
        swap(&writer, &written)
        changes.packedRecords = written.finish()
        changes.records = try shares.finish().records
    }
}
