import Foundation
import NephosCrypto
import NephosWire

/// What a share's URL has in its fragment, which no client sends to the service: a secret that opens the share's key, and the
/// hash of the first entry of the owner's list of devices.
struct ShareLink: Hashable, Sendable {
    var secret: SealKey
    var owner: [UInt8]

    init(secret: SealKey, owner: [UInt8]) {
        self.secret = secret
        self.owner = owner
    }

    /// Nil for any other fragment.
    init?(fragment: String?) {
        guard let fragment, fragment.hasPrefix(Self.prefix) else { return nil }
        let text = fragment.dropFirst(Self.prefix.count).replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        guard let data = Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)),
            data.count == 64, let secret = SealKey([UInt8](data.prefix(32)))
        else { return nil }
        self.init(secret: secret, owner: [UInt8](data.suffix(32)))
    }

    private static let prefix = "k="

    var fragment: String {
        Self.prefix
            + Data(secret.bytes + owner).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    /// The same URL with this fragment.
    func adding(to url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.percentEncodedFragment = fragment
        return components?.url ?? url
    }

    // MARK: What the service keeps

    /// - Parameters:
    ///   - key: the share's key in that version.
    ///   - participant: whose one-time URL has the link; nil is the share's.
    func wrapped(_ key: SealKey, version: Int64, of group: GroupPlace, participant: String? = nil) -> WrappedLink {
        let context = group.linkContext(version: version, participant: participant)
        return WrappedLink(
            version: version, key: secret.seal(key.bytes, context: context, header: [RecordKey.format]),
            secret: key.seal(secret.bytes + owner, context: context, header: [RecordKey.format]))
    }

    /// Nil where the link was not sealed under one of the keys.
    init?(_ wrapped: WrappedLink, _ keys: GroupKeys, of group: GroupPlace, participant: String? = nil) {
        let context = group.linkContext(version: wrapped.version, participant: participant)
        guard wrapped.secret.first == RecordKey.format, let key = keys.keys[wrapped.version],
            let bytes = key.open(wrapped.secret.dropFirst(), context: context),
            bytes.count == 64, let secret = SealKey(Array(bytes.prefix(32)))
        else { return nil }
        self.init(secret: secret, owner: Array(bytes.suffix(32)))
    }

    /// The share's key; nil where the secret is another link's.
    func key(_ wrapped: WrappedLink, of group: GroupPlace, participant: String? = nil) -> SealKey? {
        guard wrapped.key.first == RecordKey.format else { return nil }
        let context = group.linkContext(version: wrapped.version, participant: participant)
        return secret.open(wrapped.key.dropFirst(), context: context).flatMap(SealKey.init)
    }
}

/// What the URLs of a share have in their fragments.
struct ShareLinks: Sendable {
    var share: ShareLink?
    /// By the identifiers of the participants who are to use them.
    var oneTime: [String: ShareLink] = [:]
}
