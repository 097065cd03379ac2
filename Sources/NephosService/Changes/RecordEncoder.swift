import NephosStorage
import NephosWire

/// Collects the records of a response. For a server, it writes them as JSON directly from the database's memory; for a
/// caller in the same process, it keeps them as values.
final class RecordEncoder {
    private let users: UserNames
    /// The source of the details that a share has besides its record.
    private let shares: ShareDetails
    private let encodes: Bool
    private let requestID: String
    private var writer: JSONWriter
    private var results: [RecordResult] = []
    private(set) var failures = ItemFailures()
    /// The user record names for records that are kept as values, by account.
    private var userRecordNames: [Int64: String] = [:]

    /// - Parameters:
    ///   - encoded: whether records are written as JSON.
    ///   - size: the approximate number of bytes of that JSON.
    ///   - caller: the caller, which sees only its own part of a share's details.
    init(
        encoded: Bool, reserving size: Int, _ accounts: Accounts, _ reader: StorageReader, _ caller: Caller
    ) {
        requestID = caller.requestID
        users = UserNames(accounts, reader, own: caller.account)
        shares = ShareDetails(account: caller.account, accounts: accounts, reader: reader)
        encodes = encoded
        writer = JSONWriter(reserving: encoded ? size : 0, headroom: encoded ? Self.headroom : 0)
        writer.beginArray()
    }

    /// The number of bytes reserved for the part of the JSON before the records: the names of members, and of the zone.
    private static let headroom = 640

    /// Adds a record. A damaged record becomes an error of its item.
    func add(_ record: RecordRowView, _ projection: RecordProjection) throws {
        if record.isDamaged { return add(projection.damaged(String(decoding: record.name, as: UTF8.self), requestID)) }
        guard encodes, !record.isShare else { return try add(record.row, projection) }
        try projection.write(record, users, to: &writer)
    }

    func add(_ row: RecordRow, _ projection: RecordProjection) throws {
        if row.isDamaged { return add(projection.damaged(row.name, requestID)) }
        for account in [row.createdBy, row.modifiedBy] where userRecordNames[account] == nil {
            userRecordNames[account] = try users.string(of: account)
        }
        var dictionary = projection.dictionary(row, users: userRecordNames)
        if row.type == SystemRecordType.share {
            dictionary.shareDetails = try shares.dictionary(zone: row.zone, named: row.name)
        }
        add(.record(dictionary))
    }

    func add(_ result: RecordResult) {
        if case .failure(let error) = result { failures.add(error) }
        guard encodes else { return results.append(result) }
        result.write(to: &writer)
    }

    /// Returns the records as values or as JSON; `encoded` is nil for values. No record may be added afterwards.
    func finish() throws(ServiceError) -> (records: [RecordResult], encoded: JSONBytes?) {
        guard encodes else { return (results, nil) }
        try AnswersInMemory.check(writer.count)
        var written = JSONWriter(reserving: 0)
        swap(&writer, &written)
        written.endArray()
        return ([], written.finishInPlace())
    }
}

extension RecordRowView {
    /// - Parameter type: a record type's name in UTF-8.
    func isLive(ofType type: UnsafeRawBufferPointer) -> Bool { !isDeleted && compareBytes(self.type, type) == 0 }

    /// Whether the record is a share, whose dictionary also has share details.
    var isShare: Bool {
        type.count == Self.shareType.utf8CodeUnitCount
            && type.elementsEqual(
                UnsafeRawBufferPointer(start: Self.shareType.utf8Start, count: Self.shareType.utf8CodeUnitCount))
    }

    private static let shareType: StaticString = "cloudkit.share"
}
