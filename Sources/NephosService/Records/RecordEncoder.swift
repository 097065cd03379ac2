import NephosStorage
import NephosWire

/// Collects the records of an answer: as JSON, written at once from the database's memory, or as values for a caller in
/// the same process.
final class RecordEncoder {
    private let users: UserNames
    /// What shares have besides their records.
    private let shares: ShareDetails
    private let encodes: Bool
    private let requestID: String
    private var writer: JSONWriter
    private var results: [RecordResult] = []
    private(set) var failures = ItemFailures()
    /// The names that the values have.
    private var userRecordNames: [Int64: String] = [:]

    /// - Parameters:
    ///   - encoded: whether they are to be JSON.
    ///   - size: about how many bytes of it come.
    ///   - caller: sees of a share what is the caller's to see.
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

    /// Room for what an answer has in front of its records: the names of members, and of the zone.
    private static let headroom = 640

    /// Adds a record; one that is damaged fails at its item.
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

    /// What was added, in the one form or the other. Nothing can be added any more.
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

    /// Whether it is the record of a share, which is answered with more than a record has.
    var isShare: Bool {
        type.count == Self.shareType.utf8CodeUnitCount
            && type.elementsEqual(
                UnsafeRawBufferPointer(start: Self.shareType.utf8Start, count: Self.shareType.utf8CodeUnitCount))
    }

    private static let shareType: StaticString = "cloudkit.share"
}
