import FoundationEssentials
import NephosCrypto
import NephosWire

/// The keys with which a provider signs (JSON Web Key Set, RFC 7517 §5). Keys of other kinds and uses are left out.
struct ProviderKeys: Sendable {
    private struct Key: Sendable {
        var id: String?
        var key: SignaturePublicKey
    }

    /// The maximum number of keys that are read.
    private static let limit = 100

    private let keys: [Key]

    private struct Entry: Decodable {
        var kty: String
        var kid: String?
        var use: String?
        var alg: String?
        var crv: String?
        var n: String?
        var e: String?
        var x: String?
        var y: String?

        var key: SignaturePublicKey? {
            func bytes(_ text: String?) -> [UInt8] { text.flatMap(Base64URL.bytes) ?? [] }
            return switch (kty, crv) {
            case ("RSA", _): SignaturePublicKey(modulus: bytes(n), exponent: bytes(e))
            case ("EC", "P-256"): SignaturePublicKey(x: bytes(x), y: bytes(y))
            case ("OKP", "Ed25519"): SignaturePublicKey(ed25519: bytes(x))
            default: nil
            }
        }
    }

    /// An entry; nil for one that is no key at all.
    private struct AnyEntry: Decodable {
        var entry: Entry?
        init(from decoder: any Decoder) { entry = try? Entry(from: decoder) }
    }

    private struct Document: Decodable { var keys: [AnyEntry] }

    /// - Throws: `ProviderFailure` for a text that is no set of keys.
    init(decoding body: [UInt8]) throws(ProviderFailure) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(body)) else {
            throw .refused("the provider's keys cannot be read")
        }
        keys = document.keys.prefix(Self.limit).compactMap { element in
            guard let entry = element.entry, let key = entry.key, (entry.use ?? "sig") == "sig",
                entry.alg == nil || entry.alg == key.algorithm.rawValue
            else { return nil }
            return Key(id: entry.kid, key: key)
        }
    }

    /// The keys that may have made a signature: of its algorithm, and with the ID that it names. Without an ID there is
    /// one such key alone, so that the token chooses none.
    func keys(for signature: JSONWebSignature) -> [SignaturePublicKey] {
        let ofAlgorithm = keys.filter { $0.key.algorithm == signature.algorithm }
        guard let id = signature.keyID else { return ofAlgorithm.count == 1 ? [ofAlgorithm[0].key] : [] }
        return ofAlgorithm.filter { $0.id?.hasSameBytes(as: id) == true }.map(\.key)
    }
}
