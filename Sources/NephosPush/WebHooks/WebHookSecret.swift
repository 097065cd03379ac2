import FoundationEssentials

/// The secret that signs the requests to a web hook: 24 to 64 bytes, written as `whsec_` followed by base64 (Standard
/// Webhooks, Signature scheme).
package struct WebHookSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private static let prefix = "whsec_"
    let key: [UInt8]

    /// Nil unless the text has this form.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))), (24...64).contains(key.count)
        else { return nil }
        self.key = Array(key)
    }

    /// Reads the secret from a file that contains nothing else. White space around the secret is allowed.
    /// - Throws: `NotificationSetupError`, whose message does not reveal the content of the file.
    package init(file: String) throws(NotificationSetupError) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: file))
        } catch {
            throw NotificationSetupError("the web hook's secret '\(file)' cannot be read")
        }
        let text = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard text.count == 1, let secret = WebHookSecret(String(text[0])) else {
            throw NotificationSetupError(
                "'\(file)' holds no secret for web hooks, whsec_ and 24 to 64 bytes in base64; this makes one: "
                    + "echo whsec_$(openssl rand -base64 32)")
        }
        self = secret
    }

    /// The prefix of the secret alone, so that printed output does not reveal it.
    package var description: String { Self.prefix + "…" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
