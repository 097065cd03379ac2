package import NephosService
import NephosWire

/// One request and its outcome, for the operator's log.
package struct AnsweredRequest: Hashable, Sendable {
    package var requestID: String
    package var method: String
    /// The route, `records/modify`, or the path if no route matches it.
    package var endpoint: String
    package var container: String?
    package var environment: String?
    /// `public`, `private` or `shared`.
    package var database: String?
    /// The account; nil for none.
    package var account: String?
    /// The operations and their counts: `save 3 Note, delete 1`.
    package var summary: String?
    package var status: Int
    /// Items of an answered request that failed.
    package var failedItems = 0
    /// The server error code and reason of a request that was refused as a whole.
    package var errorCode: String?
    package var reason: String?
    package var duration: Duration
    /// Bytes of the answer's body.
    package var answerSize: Int
    /// The duration of each stage.
    package var stages = StageDurations()

    /// Milliseconds, to a tenth.
    package var milliseconds: Double {
        let (seconds, attoseconds) = duration.components
        return (Double(seconds) * 10_000 + Double(attoseconds) / 1e14).rounded() / 10
    }
}

/// The log's details of a request, filled in by its route. One task accesses it at a time.
final class RequestDetails: @unchecked Sendable {
    // `@unchecked`: the route's task writes, and the responder reads after the route has returned.
    var container: String?
    var environment: String?
    var database: String?
    var account: String?
    /// The summaries of the request and of its answer.
    var summaries: [String] = []

    /// Items that failed.
    var failedItems = 0

    /// Notes the summary of a request or an answer.
    func note(_ message: Any) {
        if let answer = message as? any ItemsAnswering { failedItems += answer.itemFailures.count }
        if let text = (message as? any RequestSummarizing)?.logSummary, !text.isEmpty { summaries.append(text) }
    }
}
