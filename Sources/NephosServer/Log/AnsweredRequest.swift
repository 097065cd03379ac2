package import NephosService
import NephosWire

/// One request and what came of it, for the operator's log.
package struct AnsweredRequest: Hashable, Sendable {
    package var requestID: String
    package var method: String
    /// What was asked: `records/modify`, or the path where nothing answers it.
    package var endpoint: String
    package var container: String?
    package var environment: String?
    /// `public`, `private` or `shared`.
    package var database: String?
    /// nil is none.
    package var account: String?
    /// What, and how many: `save 3 Note, delete 1`.
    package var summary: String?
    package var status: Int
    /// Items of an answered request that failed.
    package var failedItems = 0
    /// The code and the reason of a request that was refused as a whole.
    package var errorCode: String?
    package var reason: String?
    package var duration: Duration
    /// Bytes of the answer's body.
    package var answerSize: Int
    /// Where the duration went.
    package var stages = StageDurations()

    /// Milliseconds, to a tenth.
    package var milliseconds: Double {
        let (seconds, attoseconds) = duration.components
        return (Double(seconds) * 10_000 + Double(attoseconds) / 1e14).rounded() / 10
    }
}

/// What a request is about, as its route learns of it. One task has it at a time.
final class RequestDetails: @unchecked Sendable {
    // `@unchecked`: the route's task writes, and the responder reads once the route is done.
    var container: String?
    var environment: String?
    var database: String?
    var account: String?
    /// What the request says, and what its answer adds.
    var summaries: [String] = []

    /// Items that failed.
    var failedItems = 0

    /// Notes what there is to say of a request or of an answer.
    func note(_ message: Any) {
        if let answer = message as? any ItemsAnswering { failedItems += answer.itemFailures.count }
        if let text = (message as? any RequestSummarizing)?.logSummary, !text.isEmpty { summaries.append(text) }
    }
}
