import FoundationEssentials
import Glibc
import NephosCrypto

/// The signature of a request by a server-to-server key, with what it signs (CloudKit Web Services, server-to-server keys).
package struct SignedRequest: Hashable, Sendable {
    package var keyID: String
    /// The header with the date, verbatim.
    package var date: String
    /// The header with the signature, in base64.
    package var signature: String
    /// The SHA-256 of the body as it was received, in base64.
    package var bodyHash: String
    /// Whether the body is empty. Then clients also sign an empty text in place of its hash.
    package var hasBody: Bool
    /// The path and query as they were received.
    package var target: String

    package init(keyID: String, date: String, signature: String, body: [UInt8] = [], target: String) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
        self.target = target
        bodyHash = ""
        hasBody = false
        setBody(body)
    }

    /// Takes the body as it was received, which arrives after the headers.
    package mutating func setBody(_ body: [UInt8]) {
        let hash = StreamingHash(.sha256)
        body.withUnsafeBytes { hash.update($0) }
        bodyHash = Data(hash.finish()).base64EncodedString()
        hasBody = !body.isEmpty
    }

    /// The message that the key signed; nil if it signed none of those that clients sign: with the query or without it, and
    /// with an empty hash for an empty body.
    func message(signedBy key: ECDSAPublicKey, _ signature: [UInt8]) -> String? {
        let path = String(target.prefix { $0 != "?" })
        for target in target == path ? [target] : [target, path] {
            for hash in hasBody ? [bodyHash] : [bodyHash, ""] {
                let message = "\(date):\(hash):\(target)"
                if key.verifies(signature, of: Array(message.utf8)) { return message }
            }
        }
        return nil
    }

    /// The time of the date in milliseconds since 1970; nil unless it is in the form `2026-01-15T09:30:00Z`.
    var time: Int64? {
        guard let parts = date.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z/) else { return nil }
        func number(_ text: Substring) -> Int32 { Int32(text) ?? 0 }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (number(parts.1) - 1900, number(parts.2) - 1, number(parts.3))
        (time.tm_hour, time.tm_min, time.tm_sec) = (number(parts.4), number(parts.5), number(parts.6))
        guard (0...11).contains(time.tm_mon), (1...31).contains(time.tm_mday), time.tm_hour < 24, time.tm_min < 60,
            time.tm_sec < 61
        else { return nil }
        return Int64(timegm(&time)) * 1000
    }
}
