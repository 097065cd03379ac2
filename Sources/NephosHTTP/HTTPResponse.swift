/// The response of a server.
package struct HTTPResponse: Sendable {
    /// The maximum number of bytes that are kept of an error's body if a successful body would go to a file or
    /// receiver.
    package static let errorBodyLimit = 64 * 1024

    package var status: Int
    /// The raw header lines.
    package var headerLines: [UInt8] = []
    package var body: [UInt8] = []
    /// The target of a redirect as an absolute URL; nil without a redirect.
    package var redirectURL: String?

    package init(status: Int) {
        self.status = status
    }

    /// Returns the value of the last header with this name; nil if there is none. Names are case-insensitive.
    package func header(_ name: StaticString) -> String? {
        name.withUTF8Buffer { name in
            var value: String?
            for line in headerLines.split(separator: UInt8(ascii: "\n")) {
                guard line.count > name.count, line[line.startIndex + name.count] == UInt8(ascii: ":"),
                    zip(line, name).allSatisfy({ Self.lowercased($0) == Self.lowercased($1) })
                else { continue }
                value = String(decoding: Self.trimmed(line.dropFirst(name.count + 1)), as: UTF8.self)
            }
            return value
        }
    }

    /// Returns the delay that the server requests by `Retry-After` (RFC 9110 §10.2.3: seconds or a date); nil without
    /// that header.
    /// - Parameter now: the current time in milliseconds since 1970.
    package func retryAfter(now: Int64) -> Duration? {
        guard let text = header("Retry-After") else { return nil }
        if let seconds = Int64(text) { return seconds >= 0 ? .seconds(seconds) : nil }
        guard let date = HTTPDate.seconds(text) else { return nil }
        return .milliseconds(max(date * 1000 - now, 0))
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let end = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? bytes.startIndex
        return bytes[..<end].drop(while: isSpace)
    }
}

/// The date format of HTTP headers: "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the time in seconds since 1970; nil for invalid text. The weekday is not checked.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]), let year = Int64(words[3]),
            let month = months.firstIndex(of: String(words[2])), (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { Int64($0) }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        // Converts a civil date to days. Years begin in March, so that the leap day comes last.
        let shifted = Int64((month + 10) % 12)
        let civilYear = shifted >= 10 ? year - 1 : year
        let days =
            365 * civilYear + civilYear / 4 - civilYear / 100 + civilYear / 400 + (153 * shifted + 2) / 5 + day - 1
            - 719_468
        return days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }
}
