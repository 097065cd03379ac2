import NephosStorage

/// The outcome of one item of a batch.
enum RecordOutcome: Sendable {
    case saved(RecordRow)
    case deleted(type: String?)
    case refused(ServiceError, server: RecordRow?)

    var isRefused: Bool { if case .refused = self { true } else { false } }

    /// The record that the response contains; nil if it contains none.
    var row: RecordRow? {
        switch self {
        case .saved(let row): row
        case .refused(_, let server): server
        case .deleted: nil
        }
    }
}
