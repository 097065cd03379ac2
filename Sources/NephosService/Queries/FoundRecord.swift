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
    func isLive(ofType type: [UInt8]) -> Bool {
        switch self {
        case .visited(let record): !record.isDeleted && type.withUnsafeBytes { compareBytes(record.type, $0) == 0 }
        case .row(let row): !row.isDeleted && row.type.utf8.elementsEqual(type)
        }
    }
}
