import NephosService
import NephosWire

extension AnsweredRequest {
    /// Returns one line for a person. Control characters in text from clients are escaped, so that a client cannot
    /// forge a line.
    /// - Parameters:
    ///   - time: the time of the request in the format of `LogTime`.
    ///   - colours: whether the terminal shows colours.
    ///   - showsRequestID: whether a line without an error has the request's identifier, too.
    package func line(time: String, colours: Bool, showsRequestID: Bool = false) -> String {
        let paint = { (code: String, text: String) in colours ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
        let who = Self.padded((account ?? "—").printable(limit: showsRequestID ? 40 : 24), 10)
        // The line omits the environment `development`, which is the default.
        let store = container.map { $0 + (environment == "production" ? "/production" : "") }
        let place = Self.padded((store ?? "").printable(limit: 80), 22) + " " + Self.padded(database ?? "", 7)
        let what = Self.padded(endpoint.printable(limit: 80), 18)
        let code = paint(status < 400 ? "32" : status < 500 ? "33" : "31", String(status))
        let outcome =
            isNotification
            ? paint("32", "sent") + String(repeating: " ", count: 11)
            : "\(code)  \(Self.leftPadded("\(milliseconds)", 7)) ms"
        var line = "\(paint("2", time))  \(outcome)  \(who) \(place) \(what)"
        if let summary {
            let text = summary.printable(limit: 160)
            line += " " + (failedItems > 0 ? paint("33", text) : text)
        }
        if let errorCode {
            line += paint("33", "  \(errorCode)" + (reason.map { ": \($0.printable(limit: 300))" } ?? ""))
        }
        if errorCode != nil || showsRequestID { line += " (\(requestID))" }
        if stages.isSlow {
            let parts = stages.longest.map { "\($0.name) \($0.milliseconds) ms" }
            line += paint("33", "  slow: " + parts.joined(separator: ", "))
        }
        return String(line.reversed().drop { $0 == " " }.reversed())
    }

    /// Returns one line of JSON for a program.
    /// - Parameter time: the time of the request in the format of `LogTime`.
    package func json(time: String) -> String {
        var writer = JSONWriter(reserving: 512)
        write(to: &writer, time: time)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    /// Writes the request as JSON.
    /// - Parameters:
    ///   - time: the time of the request; nil to omit it.
    ///   - position: the position among the recent requests; nil to omit it.
    ///   - writeMore: writes further members.
    func write(
        to writer: inout JSONWriter, time: String? = nil, position: Int? = nil,
        _ writeMore: (inout JSONWriter) -> Void = { _ in }
    ) {
        writer.beginObject()
        if let position {
            writer.key("position")
            writer.int64(Int64(position))
        }
        writer.member("time", time)
        writer.member("requestID", requestID)
        writer.member("method", method)
        writer.member("endpoint", endpoint)
        writer.member("container", container)
        writer.member("environment", environment)
        writer.member("database", database)
        writer.member("account", account)
        writer.member("summary", summary)
        writer.key("status")
        writer.int64(Int64(status))
        if failedItems > 0 {
            writer.key("failedItems")
            writer.int64(Int64(failedItems))
        }
        writer.key("milliseconds")
        writer.double(milliseconds)
        if stages.isSlow { writeStages(to: &writer) }
        writer.key("answerSize")
        writer.int64(Int64(answerSize))
        writer.member("errorCode", errorCode)
        writer.member("reason", reason)
        writeMore(&writer)
        writer.endObject()
    }

    /// Writes the durations of the stages in milliseconds, such as `"stages": {"commit": 1204, "queue": 31}`.
    private func writeStages(to writer: inout JSONWriter) {
        writer.key("stages")
        writer.beginObject()
        for (name, milliseconds) in stages.longest {
            writer.key(name)
            writer.int64(milliseconds)
        }
        writer.endObject()
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func leftPadded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
