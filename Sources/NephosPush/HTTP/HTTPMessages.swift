/// A POST to somebody else's server.
struct HTTPRequest: Sendable {
    /// An absolute http or https URL.
    var url: String
    /// Names and values, which have no line breaks.
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// For all of it, from looking up the name to the last byte of the answer.
    var timeout: Duration = .seconds(30)
}

/// What the server answered.
struct HTTPResponse: Sendable {
    var status: Int
    /// By name in lower case.
    var headers: [String: String] = [:]
    /// At most `HTTPTransfer.bodyLimit` bytes of it.
    var body: [UInt8] = []

    /// How long the server asks to wait (RFC 9110, 10.2.3: seconds or a date); nil without a header that says it.
    /// - Parameter now: in milliseconds since 1970.
    func retryAfter(now: Int64) -> Duration? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Int64(text) { return seconds >= 0 ? .seconds(seconds) : nil }
        guard let date = HTTPDate.seconds(text) else { return nil }
        return .milliseconds(max(date * 1000 - now, 0))
    }
}

/// There is no answer. The reason holds neither the URL nor anything that was sent.
struct HTTPFailure: Error, Hashable, Sendable {
    var reason: String

    static let closed = HTTPFailure(reason: "the service is stopping")
    static let cancelled = HTTPFailure(reason: "cancelled")
}

/// The date of HTTP's headers: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil if the text is no such date. The name of the day is not checked.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), let year = Int64(words[3]),
            let month = months.firstIndex(of: String(words[2])), (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        // Days from the civil calendar, with years that begin in March so that the leap day comes last.
        let shifted = Int64((month + 10) % 12)
        let civilYear = shifted >= 10 ? year - 1 : year
        let days =
            365 * civilYear + civilYear / 4 - civilYear / 100 + civilYear / 400 + (153 * shifted + 2) / 5 + day - 1
            - 719_468
        return days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }
}
