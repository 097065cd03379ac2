import NephosStorage
import NephosWire

/// Collects the records of a response: as JSON, written directly from the database's memory, or as values for a caller
/// in the same process.
final class RecordEncoder {
    private let users: UserNames
    /// The share details besides their records.
    private let shares: ShareDetails
    private let encodes: Bool
    private let requestID: String
    private var writer: JSONWriter
    private var results: [RecordResult] = []
    private(set) var failures = ItemFailures()
    /// The user record names in the values.
    private var userRecordNames: [Int64: String] = [:]

    /// - Parameters:
    ///   - encoded: whether to write JSON.
    ///   - size: approximate bytes of the JSON.
    ///   - caller: bounds the visible details of shares.
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

    /// Reserved bytes for the part before the records: the names of members, and of the zone.
    private static let headroom = 640

    /// Adds a record; a damaged one fails at its item.
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

    /// Returns the records in one form or the other. Nothing can be added afterwards.
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

    /// Whether it is a share's record, whose response has more than a record.
    var isShare: Bool {
        type.count == Self.shareType.utf8CodeUnitCount
            && type.elementsEqual(
                UnsafeRawBufferPointer(start: Self.shareType.utf8Start, count: Self.shareType.utf8CodeUnitCount))
    }

    private static let shareType: StaticString = "cloudkit.share"
}
