import NephosStorage
import NephosWire

/// A record that a query comes to: where the database has it, or a copy that was made to be sorted.
protocol FoundRecord {
    var number: RowNumber { get }
    var sequence: Int64 { get }
    /// Whether what was read is not what was written. The answer says so at its item.
    var isDamaged: Bool { get }
    /// Bytes of its fields.
    var size: Int { get }
    /// A copy.
    var row: RecordRow { get }
    /// - Parameter type: a record type's name in UTF-8.
    func isLive(ofType type: UnsafeRawBufferPointer) -> Bool
    /// Gives it to the answer.
    func add(to records: AnswerRecords, _ answer: RecordAnswer) throws
}

extension VisitedRecord: FoundRecord {
    var size: Int { fields.count }

    func isLive(ofType type: UnsafeRawBufferPointer) -> Bool { !isDeleted && compareBytes(self.type, type) == 0 }

    func add(to records: AnswerRecords, _ answer: RecordAnswer) throws { try records.add(self, answer) }
}

extension RecordRow: FoundRecord {
    var size: Int { fields.count }
    var row: RecordRow { self }

    func isLive(ofType type: UnsafeRawBufferPointer) -> Bool { !isDeleted && self.type.utf8.elementsEqual(type) }

    func add(to records: AnswerRecords, _ answer: RecordAnswer) throws { try records.add(self, answer) }
}

/// The answer of a query as its records are found.
final class FoundRecords {
    /// How records of the first zone are given, or of all.
    private let first: RecordAnswer
    /// How those of the other zones are.
    private let others: [RecordAnswer]
    private let records: AnswerRecords
    let areOnlyCounted: Bool

    /// - Parameters:
    ///   - first: how records are given.
    ///   - others: how those of other zones are, where that differs.
    ///   - areOnlyCounted: whether the answer gets none of them.
    init(_ first: RecordAnswer, others: [RecordAnswer], _ records: AnswerRecords, areOnlyCounted: Bool) {
        self.first = first
        self.others = others
        self.records = records
        self.areOnlyCounted = areOnlyCounted
    }

    /// - Parameter zone: the place of its zone.
    func add(_ record: some FoundRecord, zone: Int) throws {
        if areOnlyCounted { return }
        if zone == 0 || others.isEmpty {
            try record.add(to: records, first)
        } else {
            try record.add(to: records, others[zone - 1])
        }
    }

    func finish() -> (records: [RecordResult], encoded: JSONBytes?) { areOnlyCounted ? ([], nil) : records.finish() }
}
