import FoundationEssentials
import Glibc
import NephosWire

/// Formats the times of log lines as RFC 3339 in UTC, to the millisecond.
package enum LogTime {
    package static var now: String { text(Int64(Date().timeIntervalSince1970 * 1000)) }

    /// - Parameter time: the time in milliseconds since 1970.
    package static func text(_ time: Int64) -> String {
        var seconds = time_t(time / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)]
        let clock = [(Int(parts.tm_hour), 2), (Int(parts.tm_min), 2), (Int(parts.tm_sec), 2)]
        return date.map(padded).joined(separator: "-") + "T" + clock.map(padded).joined(separator: ":")
            + ".\(padded(Int(time % 1000), 3))Z"
    }

    /// Returns a line of JSON with a message that belongs to no request.
    package static func json(_ time: String, message: String) -> String {
        var writer = JSONWriter(reserving: 256)
        writer.beginObject()
        writer.member("time", time)
        writer.member("message", message)
        writer.endObject()
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
