import FoundationEssentials
import Glibc

/// A mail as it is sent: plain text in UTF-8 (RFC 5322, RFC 2045). Its lines end with CR LF.
package struct MailMessage: Sendable {
    package var from: MailSender
    package var to: MailAddress
    package var subject: String
    package var body: String
    /// The part of the `Message-ID` before the `@`.
    package var id: String
    /// The time of the `Date` header, in milliseconds since 1970.
    package var date: Int64

    /// The longest line without its end, in bytes (RFC 5322 §2.1.1).
    private static let longestLine = 998

    package var bytes: [UInt8] {
        let lines = body.split(omittingEmptySubsequences: false) { $0.isNewline }
        let isPlain = lines.allSatisfy { line in
            line.utf8.count <= Self.longestLine && line.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
        }
        let headers = [
            "From: \(sender)", "To: <\(to.text)>", "Subject: \(Self.encodedWords(subject))",
            "Date: \(Self.text(ofDate: date))", "Message-ID: <\(id)@\(from.address.domain)>",
            // No holiday notices in answer (RFC 3834).
            "Auto-Submitted: auto-generated", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: \(isPlain ? "7bit" : "quoted-printable")",
        ]
        let encoded = isPlain ? lines.map(String.init) : lines.map(Self.quotedPrintable)
        return Array((headers + [""] + encoded + [""]).joined(separator: "\r\n").utf8)
    }

    private var sender: String {
        if from.name.isEmpty { return "<\(from.address.text)>" }
        let isASCII = from.name.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard isASCII else { return "\(Self.encodedWords(from.name)) <\(from.address.text)>" }
        return "\"\(from.name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\" <\(from.address.text)>"
    }

    /// Returns a text for a header: as it is if it is short ASCII, or in encoded words (RFC 2047), which cannot contain
    /// the end of a line.
    static func encodedWords(_ text: String) -> String {
        if text.utf8.count <= 60, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !text.contains("=?") {
            return text
        }
        var words: [[UInt8]] = [[]]
        for scalar in text.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            // An encoded word has up to 75 characters.
            if words[words.count - 1].count + bytes.count > 45 { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?UTF-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }

    /// Returns a line in quoted-printable, in pieces of up to 76 characters (RFC 2045 §6.7).
    static func quotedPrintable(_ line: some StringProtocol) -> String {
        var (encoded, length) = ("", 0)
        let bytes = Array(line.utf8)
        for (index, byte) in bytes.enumerated() {
            let isSpace = byte == 0x20 || byte == 0x09
            let isPlain =
                (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "=") || isSpace && index + 1 < bytes.count
            let digits = String(byte, radix: 16, uppercase: true)
            let piece = isPlain ? String(UnicodeScalar(byte)) : byte < 16 ? "=0\(digits)" : "=\(digits)"
            if length + piece.utf8.count > 75 {
                encoded += "=\r\n"
                length = 0
            }
            encoded += piece
            length += piece.utf8.count
        }
        return encoded
    }

    /// Returns a date such as `Thu, 26 Nov 2026 08:10:32 +0000` (RFC 5322 §3.3).
    static func text(ofDate milliseconds: Int64) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        gmtime_r(&seconds, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(days[Int(parts.tm_wday)]), \(parts.tm_mday) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
            + "\(clock.joined(separator: ":")) +0000"
    }
}
