import NephosStorage
import NephosWire

/// The end of a feed's path: encodes the changes of a page, in the form that its client takes.
protocol FeedEncoder {
    func add(change record: RecordRowView, _ projection: RecordProjection) throws
    /// Hands over what was added. Nothing can be added any more.
    func finish(into changes: inout RecordZoneChanges) throws
}

/// Record dictionaries.
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

/// Packed records, which our own library takes (`PackedRecords`). Shares have more members than those, and are given as
/// dictionaries.
final class PackedRecordEncoder: FeedEncoder {
    private let users: UserNames
    private let shares: RecordEncoder
    private var writer: PackedRecordsWriter

    /// - Parameter size: about how many bytes of records come.
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
