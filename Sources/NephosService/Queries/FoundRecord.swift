import NephosStorage
import NephosWire

/// A record that a query comes to: where the database has it, or a copy that was made to be sorted.
enum FoundRecord {
    case visited(VisitedRecord)
    // Boxed, as it is many words, and the other one is handed on from call to call for every record of an answer.
    indirect case row(RecordRow)

    var number: RowNumber {
        switch self {
        case .visited(let record): record.number
        case .row(let row): row.number
        }
    }

    var sequence: Int64 {
        switch self {
        case .visited(let record): record.sequence
        case .row(let row): row.sequence
        }
    }

    /// A copy.
    var row: RecordRow {
        switch self {
        case .visited(let record): record.row
        case .row(let row): row
        }
    }

    var zone: ZoneKey {
        switch self {
        case .visited(let record): record.zone
        case .row(let row): row.zone
        }
    }

    /// - Parameter type: a record type's name in UTF-8.
    func isLive(ofType type: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .visited(let record): !record.isDeleted && compareBytes(record.type, type) == 0
        case .row(let row): !row.isDeleted && row.type.utf8.elementsEqual(type)
        }
    }
}

/// The answer of a query as its records are found.
struct FoundRecords {
    /// That of the first zone, or of all.
    private let first: RecordAnswer
    /// Those of the other zones.
    private let others: [RecordAnswer]
    private let records: AnswerRecords

    /// - Parameters:
    ///   - first: how records are given.
    ///   - others: how those of other zones are, where that differs.
    init(_ first: RecordAnswer, others: [RecordAnswer], _ records: AnswerRecords) {
        self.first = first
        self.others = others
        self.records = records
    }

    /// - Parameter zone: the place of its zone.
    func add(_ record: FoundRecord, zone: Int) throws {
        if zone == 0 || others.isEmpty {
            try add(record, first)
        } else {
            try add(record, others[zone - 1])
        }
    }

    @inline(__always)
    private func add(_ record: FoundRecord, _ answer: RecordAnswer) throws {
        switch record {
        case .visited(let record): try records.add(record, answer)
        case .row(let row): try records.add(row, answer)
        }
    }

    func finish() -> (records: [RecordResult], encoded: JSONBytes?) { records.finish() }
}
