import NephosCrypto

/// The site that passkeys are for (Web Authentication §4, relying party): the host of the public URL. Passkeys of another host
/// do not sign in.
struct RelyingParty: Hashable, Sendable {
    /// The host, without a port.
    let id: String
    /// The origin of this server's pages.
    let origin: String

    /// Nil for a URL at which browsers have no passkeys: of an address in place of a name, or without TLS.
    /// - Parameter url: the public URL in its canonical form, without a trailing slash.
    init?(url: String) {
        let isSecure = url.hasPrefix("https://")
        guard isSecure || url.hasPrefix("http://") else { return nil }
        let host = url.dropFirst(isSecure ? 8 : 7).prefix { $0 != ":" && $0 != "/" }
        // An IPv6 address begins with a bracket, and the last label of an IPv4 address has digits alone.
        guard let last = host.split(separator: ".").last, !host.hasPrefix("["), !last.allSatisfy(\.isNumber),
            isSecure || host == "localhost"
        else { return nil }
        (id, origin) = (String(host), url)
    }

    /// Whether authenticator data begins with the hash of this relying party.
    func isNamed(in authenticatorData: [UInt8]) -> Bool {
        let hash = StreamingHash(.sha256)
        hash.update(Array(id.utf8))
        return authenticatorData.starts(with: hash.finish())
    }
}

extension Installation {
    /// The relying party and the verifier of its passkeys; nil where there are no passkeys.
    var passkeyPlace: (relyingParty: RelyingParty, verifier: any PasskeyVerifier)? {
        guard let verifier = people.passkeys, let relyingParty = RelyingParty(url: people.url) else { return nil }
        return (relyingParty, verifier)
    }
}
