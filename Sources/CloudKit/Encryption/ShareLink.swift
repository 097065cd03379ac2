import Foundation
import NephosCrypto
import NephosWire

/// The fragment of a share's URL, which no client sends to the service. It contains a secret that opens the share's
/// key, and the hash of the first entry in the owner's device list.
struct ShareLink: Hashable, Sendable {
    var secret: SealKey
    var owner: [UInt8]

    init(secret: SealKey, owner: [UInt8]) {
        self.secret = secret
        self.owner = owner
    }

    /// Nil if the text is not such a fragment.
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

    /// Returns the URL with this fragment.
    func adding(to url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.percentEncodedFragment = fragment
        return components?.url ?? url
    }

    // MARK: The wrapped link

    /// Seals the link and the key for the service.
    /// - Parameters:
    ///   - key: the key of the share in the version `version`.
    ///   - participant: the participant whose one-time URL has the link; nil for the link in the share's URL.
    func wrapped(_ key: SealKey, version: Int64, of group: GroupPlace, participant: String? = nil) -> WrappedLink {
        let context = group.linkContext(version: version, participant: participant)
        return WrappedLink(
            version: version, key: secret.seal(key.bytes, context: context, header: [RecordKey.format]),
            secret: key.seal(secret.bytes + owner, context: context, header: [RecordKey.format]))
    }

    /// Nil if none of the keys sealed the link.
    init?(_ wrapped: WrappedLink, _ keys: GroupKeys, of group: GroupPlace, participant: String? = nil) {
        let context = group.linkContext(version: wrapped.version, participant: participant)
        guard wrapped.secret.first == RecordKey.format, let key = keys.keys[wrapped.version],
            let bytes = key.open(wrapped.secret.dropFirst(), context: context),
            bytes.count == 64, let secret = SealKey(Array(bytes.prefix(32)))
        else { return nil }
        self.init(secret: secret, owner: Array(bytes.suffix(32)))
    }

    /// Returns the key of the share; nil if the secret belongs to another link.
    func key(_ wrapped: WrappedLink, of group: GroupPlace, participant: String? = nil) -> SealKey? {
        guard wrapped.key.first == RecordKey.format else { return nil }
        let context = group.linkContext(version: wrapped.version, participant: participant)
        return secret.open(wrapped.key.dropFirst(), context: context).flatMap(SealKey.init)
    }
}

/// The URL fragments of a share.
struct ShareLinks: Sendable {
    var share: ShareLink?
    /// The links of one-time URLs, by the identifier of their participant.
    var oneTime: [String: ShareLink] = [:]
}
