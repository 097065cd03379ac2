package import NephosService
import NephosWire

/// One request with its outcome, for the operator's log.
package struct AnsweredRequest: Hashable, Sendable {
    package var requestID: String
    package var method: String
    /// The request's route, such as `records/modify`; its path if no route matches it.
    package var endpoint: String
    /// Whether a route matches the request.
    package var isRouted = true
    /// Whether the request's credentials were accepted, and so its container exists.
    package var isCallerKnown = false
    package var container: String?
    package var environment: String?
    /// The request's database: `public`, `private` or `shared`; nil if it names none.
    package var database: String?
    /// The request's account; nil for none.
    package var account: String?
    /// The operations of the request with their counts, such as `save 3 Note, delete 1`; nil for none.
    package var summary: String?
    package var status: Int
    /// The number of items that failed, in a request that was answered.
    package var failedItems = 0
    /// The server error code of a request that was refused as a whole. The next property is the reason. Nil for any
    /// other request.
    package var errorCode: String?
    package var reason: String?
    package var duration: Duration
    /// The size of the answer's body in bytes.
    package var answerSize: Int
    /// The duration of each stage.
    package var stages = StageDurations()

    /// The duration of the request in milliseconds, rounded to a tenth.
    package var milliseconds: Double {
        let (seconds, attoseconds) = duration.components
        return (Double(seconds) * 10_000 + Double(attoseconds) / 1e14).rounded() / 10
    }
}

extension AnsweredRequest {
    /// Creates the entry of a request without a container.
    package init(
        requestID: String, method: String, endpoint: String, status: Int, milliseconds: Double, answerSize: Int
    ) {
        self.init(
            requestID: requestID, method: method, endpoint: endpoint, status: status,
            duration: .microseconds(Int64(milliseconds * 1000)), answerSize: answerSize)
    }
}

/// The details of a request for the log, which its route fills in. One task at a time accesses them.
final class RequestDetails: @unchecked Sendable {
    // `@unchecked`: the route's task writes the details, and the responder reads them after the route has returned.
    var container: String?
    var environment: String?
    var database: String?
    var account: String?
    /// Whether the caller's credentials were accepted.
    var isCallerKnown = false
    /// The summaries of the request and of its answer.
    var summaries: [String] = []

    /// The number of items that failed.
    var failedItems = 0
    /// The errors of items, if they are recorded.
    var failures: [ErrorDictionary] = []
    /// Whether a reader looks at the recent requests.
    let isWatched: Bool
    /// Whether the errors of items are recorded.
    let keepsFailures: Bool
    /// The maximum number of errors of items that are recorded of a request without a watching dashboard.
    private static let unwatchedFailures = 50
    /// Whether summaries are noted.
    private let isSummarized: Bool

    init(isWatched: Bool = false, isLogged: Bool = false, isSummarized: Bool = true) {
        self.isWatched = isWatched
        keepsFailures = isWatched || isLogged
        self.isSummarized = isSummarized
    }

    /// Adds the failed items of an answer, and its summary.
    func note(answer: some WireMessage) {
        if let answer = answer as? any ItemsAnswering {
            let failed = answer.itemFailures
            failedItems += failed.count
            if isWatched {
                failures += failed.errors
            } else if keepsFailures {
                failures += Self.first(of: failed.errors)
            }
        }
        note(answer)
    }

    /// The errors that are recorded while no dashboard watches, those first that are not due to another item.
    private static func first(of errors: [ErrorDictionary]) -> [ErrorDictionary] {
        if errors.count <= unwatchedFailures { return errors }
        let own = errors.lazy.filter { $0.serverErrorCode != .atomicError }.prefix(unwatchedFailures)
        return own.isEmpty ? Array(errors.prefix(unwatchedFailures)) : Array(own)
    }

    /// Adds the summary of a request or of an answer.
    func note(_ message: Any) {
        guard isSummarized else { return }
        if let text = (message as? any RequestSummarizing)?.logSummary, !text.isEmpty { summaries.append(text) }
    }
}
