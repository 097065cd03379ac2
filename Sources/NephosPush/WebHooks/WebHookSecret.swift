import FoundationEssentials

/// The signing secret of web hooks: 24 to 64 bytes, written `whsec_` and base64 (Standard Webhooks, Signature scheme).
package struct WebHookSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private static let prefix = "whsec_"
    let key: [UInt8]

    /// Nil for text in another form.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            let key = Data(base64Encoded: String(text.dropFirst(Self.prefix.count))), (24...64).contains(key.count)
        else { return nil }
        self.key = Array(key)
    }

    /// Reads a file with only the secret, optionally surrounded by white space.
    /// - Throws: `NotificationSetupError`, which does not reveal the file's content.
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

    /// Hides the secret in printed output.
    package var description: String { Self.prefix + "…" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
