import NephosStorage
import NephosWire

/// The records of an answer as they are found. Where the answer is only sent on they are written in JSON at once, from
/// where the database has them; whoever is in the same process gets values.
final class AnswerRecords {
    private let users: UserNames
    private let encodes: Bool
    private var writer: JSONWriter
    private var results: [RecordResult] = []
    /// The names that the values have.
    private var userRecordNames: [Int64: String] = [:]

    /// - Parameters:
    ///   - encoded: whether they are to be JSON.
    ///   - size: about how many bytes of it come.
    init(encoded: Bool, reserving size: Int, _ accounts: Accounts, _ reader: any StorageReader) {
        users = UserNames(accounts, reader)
        encodes = encoded
        writer = JSONWriter(reserving: encoded ? size : 0, headroom: encoded ? Self.headroom : 0)
        writer.beginArray()
    }

    /// Room for what an answer has in front of its records: the names of members, and of the zone.
    private static let headroom = 640

    func add(_ record: VisitedRecord, _ answer: RecordAnswer) throws {
        guard encodes else { return try add(record.row, answer) }
        try answer.write(record, users, to: &writer)
    }

    func add(_ row: RecordRow, _ answer: RecordAnswer) throws {
        for account in [row.createdBy, row.modifiedBy] where userRecordNames[account] == nil {
            userRecordNames[account] = try users.string(of: account)
        }
        add(.record(answer.dictionary(row, users: userRecordNames)))
    }

    func add(_ result: RecordResult) {
        guard encodes else { return results.append(result) }
        result.write(to: &writer)
    }

    /// What was added, in the one form or the other. Nothing can be added any more.
    func finish() -> (records: [RecordResult], encoded: JSONBytes?) {
        guard encodes else { return (results, nil) }
        var written = JSONWriter(reserving: 0)
        swap(&writer, &written)
        written.endArray()
        return ([], written.finishInPlace())
    }
}
