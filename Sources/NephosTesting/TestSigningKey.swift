package import Foundation

/// A key that a test makes with `openssl`, which signs as in JSON Web Signatures.
package final class TestSigningKey: Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case rsa = "RS256"
        case p256 = "ES256"
        case ed25519 = "EdDSA"
    }

    package let kind: Kind
    package let id: String
    private let directory: URL
    /// The public key's numbers: modulus; x and y; x.
    private let numbers: [Data]

    package init(_ kind: Kind, id: String) throws {
        (self.kind, self.id) = (kind, id)
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-key-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let options: [String] =
            switch kind {
            case .rsa: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
            case .p256: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .ed25519: ["-algorithm", "ED25519"]
            }
        let file = directory.appendingPathComponent("key.pem")
        _ = try OpenSSL.run(["genpkey"] + options + ["-out", file.path])
        let encoded = try OpenSSL.run(["pkey", "-in", file.path, "-pubout", "-outform", "DER"])
        switch kind {
        // The last five bytes are the exponent, 65537.
        case .rsa: numbers = [encoded.dropLast(5).suffix(256)]
        case .p256: numbers = [encoded.suffix(64).prefix(32), encoded.suffix(32)]
        case .ed25519: numbers = [encoded.suffix(32)]
        }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// The file of the private key, in PEM.
    package var file: URL { directory.appendingPathComponent("key.pem") }

    /// The public key as a JSON Web Key.
    package var publicKey: [String: String] {
        let texts = numbers.map { $0.base64URL }
        let specific: [String: String] =
            switch kind {
            case .rsa: ["kty": "RSA", "n": texts[0], "e": "AQAB"]
            case .p256: ["kty": "EC", "crv": "P-256", "x": texts[0], "y": texts[1]]
            case .ed25519: ["kty": "OKP", "crv": "Ed25519", "x": texts[0]]
            }
        return specific.merging(["kid": id, "use": "sig", "alg": kind.rawValue]) { $1 }
    }

    /// The numbers of the public key.
    package var publicNumbers: [[UInt8]] { numbers.map { [UInt8]($0) } }

    /// The public key in PEM.
    package func publicPEM() throws -> Data { try OpenSSL.run(["pkey", "-in", file.path, "-pubout"]) }

    package func sign(_ message: Data) throws -> Data {
        switch kind {
        case .rsa: return try OpenSSL.run(["dgst", "-sha256", "-sign", file.path], input: message)
        case .p256:
            let encoded = try OpenSSL.run(["dgst", "-sha256", "-sign", file.path], input: message)
            return Self.fixedSize([UInt8](encoded))
        case .ed25519:
            // The command takes a file alone.
            let source = directory.appendingPathComponent(UUID().uuidString)
            try message.write(to: source)
            return try OpenSSL.run(["pkeyutl", "-sign", "-inkey", file.path, "-rawin", "-in", source.path])
        }
    }

    /// The numbers of an `ECDSA-Sig-Value`, 32 bytes each.
    private static func fixedSize(_ encoded: [UInt8]) -> Data {
        var (result, next) = (Data(), 2)
        for _ in 0..<2 {
            let length = Int(encoded[next + 1])
            let number = encoded[(next + 2)..<(next + 2 + length)].drop { $0 == 0 }
            result += Data(repeating: 0, count: 32 - number.count) + number
            next += 2 + length
        }
        return result
    }
}

extension Data {
    /// The bytes in base64url without padding.
    package var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
