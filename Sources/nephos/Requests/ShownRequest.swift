import FoundationEssentials
import NephosServer

/// A request as a server's status has it.
struct ShownRequest: Codable {
    struct Failure: Codable {
        var name: String?
        var serverErrorCode: String
        var reason: String
        var remedy: String
    }

    var time: String
    var requestID: String
    var method: String
    var endpoint: String
    var container: String?
    var environment: String?
    var database: String?
    var account: String?
    var summary: String?
    var status: Int
    var failedItems: Int?
    var milliseconds: Double
    var answerSize: Int
    var errorCode: String?
    var reason: String?
    var remedy: String?
    var failures: [Failure]?
    /// The notifications of its container within ten seconds after it.
    var notifications: [ShownRequest]?

    /// One line for a person, as in the server's log.
    func line(colours: Bool) -> String {
        var request = AnsweredRequest(
            requestID: requestID, method: method, endpoint: endpoint, status: status, milliseconds: milliseconds,
            answerSize: answerSize)
        (request.container, request.environment, request.database) = (container, environment, database)
        (request.account, request.summary, request.failedItems) = (account, summary, failedItems ?? 0)
        (request.errorCode, request.reason) = (errorCode, reason)
        return request.line(time: time, colours: colours)
    }

    /// One line of JSON for a program.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = (try? encoder.encode(self)).map { [UInt8]($0) } ?? []
        return String(decoding: TerminalSafe.json(bytes), as: UTF8.self)
    }

    /// All that is known of the request, for a person.
    var text: String {
        let refused = errorCode.map { "\($0): \(reason ?? "")" }
        let place = [container, environment, database].compactMap(\.self).joined(separator: ", ")
        // A notification has no answer.
        let answer: [(String, String?)] =
            method.isEmpty
            ? [] : [("status", String(status)), ("took", "\(milliseconds) ms"), ("answer", "\(answerSize) bytes")]
        let facts: [(String, String?)] =
            [
                ("request", method.isEmpty ? endpoint : "\(method) \(endpoint)"), ("time", time), ("account", account),
                ("place", place.isEmpty ? nil : place), ("what", summary),
            ] + answer + [("uuid", requestID), ("error", refused), ("what helps", remedy)]
        var text = ""
        for case (let name, let value?) in facts { text += Self.row(name, value) }
        for failure in failures ?? [] {
            text += "\n" + Self.row("item", failure.name ?? "—")
            text += Self.row("error", "\(failure.serverErrorCode): \(failure.reason)")
            text += Self.row("what helps", failure.remedy)
        }
        for sent in notifications ?? [] {
            text += Self.row(
                "notified", [sent.account ?? "—", sent.summary].compactMap(\.self).joined(separator: ": "))
        }
        if let code = errorCode ?? failures?.first?.serverErrorCode {
            text += "\n" + Self.row("more", "nephos explain \(code)")
        }
        let missing = (failedItems ?? 0) - (failures ?? []).count
        if missing > 0 { text += "\nThe errors of \(missing) failed items are not kept.\n" }
        return text
    }

    private static func row(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 12 - name.count)) + Console.printable(value) + "\n"
    }
}
