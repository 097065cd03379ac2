import FoundationEssentials
import NephosCrypto

/// A JSON Web Signature in the compact form (RFC 7515 §7.1), of an algorithm that is accepted. The key is never one that
/// the text itself brings.
struct JSONWebSignature: Sendable {
    /// The maximum size in bytes.
    static let longest = 64 * 1024

    let algorithm: SignaturePublicKey.Algorithm
    /// The ID of the key; nil without one.
    let keyID: String?
    let payload: [UInt8]
    private let message: [UInt8]
    private let signature: [UInt8]

    private struct Header: Decodable {
        var algorithm: String
        var keyID: String?
        var hasCritical: Bool

        private enum CodingKeys: String, CodingKey { case alg, kid, crit }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            algorithm = try container.decode(String.self, forKey: .alg)
            keyID = try container.decodeIfPresent(String.self, forKey: .kid)
            hasCritical = container.contains(.crit)
        }
    }

    /// - Throws: `ProviderFailure` for another form, another algorithm, and for extensions that have to be understood.
    init(_ text: String) throws(ProviderFailure) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 3, let head = Base64URL.bytes(of: String(parts[0])),
            let payload = Base64URL.bytes(of: String(parts[1])), let signature = Base64URL.bytes(of: String(parts[2])),
            let header = try? JSONDecoder().decode(Header.self, from: Data(head))
        else { throw .refused("the ID token is no signed token") }
        guard let algorithm = SignaturePublicKey.Algorithm(rawValue: header.algorithm) else {
            throw .refused("the ID token is not signed by RS256, ES256 or EdDSA")
        }
        guard !header.hasCritical else { throw .refused("the ID token has extensions that are not known") }
        (self.algorithm, keyID, self.payload, self.signature) = (algorithm, header.keyID, payload, signature)
        message = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether one of the keys made the signature.
    func isSigned(byOneOf keys: [SignaturePublicKey]) -> Bool {
        keys.contains { $0.algorithm == algorithm && $0.verifies(signature, of: message) }
    }
}
