import Foundation
import NephosCrypto

/// A passkey in software, for tests of what authenticators send (Web Authentication §6.1). It signs whatever it is asked to.
package final class SoftwarePasskey: Sendable {
    package enum Algorithm: Sendable, CaseIterable {
        case es256, edDSA, rs256
        /// RS256 with a modulus of 1,024 bits.
        case shortRS256
    }

    package let id: [UInt8]
    private let key: any PasskeySigner

    package init(_ algorithm: Algorithm = .edDSA, idSize: Int = 16) throws {
        id = RandomBytes.make(idSize)
        key = algorithm == .edDSA ? SigningKeyPair.random() : try OpenSSLKey(algorithm)
    }

    /// The ID in base64url.
    package var credential: String { Base64URL.text(of: id) }

    /// Returns authenticator data.
    /// - Parameters:
    ///   - flags: 1 for the person's presence, 4 for their verification.
    ///   - isNew: whether the data has the credential and its key.
    package func authenticatorData(
        relyingParty: String, flags: UInt8 = 5, counter: UInt32 = 0, isNew: Bool = false
    ) -> [UInt8] {
        let head = Self.sha256(Array(relyingParty.utf8)) + [isNew ? flags | 0x40 : flags] + Self.bytes(of: counter)
        guard isNew else { return head }
        let aaguid = [UInt8](repeating: 0, count: 16)
        return head + aaguid + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id + key.cose
    }

    package func signature(clientData: [UInt8], authenticatorData: [UInt8]) throws -> [UInt8] {
        try key.sign(authenticatorData + Self.sha256(clientData))
    }

    /// Returns client data as browsers write it.
    package static func clientData(
        type: String, challenge: String, origin: String, crossOrigin: Bool = false
    ) -> [UInt8] {
        Array(
            #"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)","crossOrigin":\#(crossOrigin)}"#.utf8
        )
    }

    package static func base64URL(_ bytes: [UInt8]) -> String { Base64URL.text(of: bytes) }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        let hash = StreamingHash(.sha256)
        hash.update(bytes)
        return hash.finish()
    }

    private static func bytes(of number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}

private protocol PasskeySigner: Sendable {
    /// The public key (RFC 8152 §13), in CBOR.
    var cose: [UInt8] { get }
    func sign(_ message: [UInt8]) throws -> [UInt8]
}

extension SigningKeyPair: PasskeySigner {
    fileprivate var cose: [UInt8] { [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20] + publicKey }
    fileprivate func sign(_ message: [UInt8]) -> [UInt8] { signature(of: message) }
}

/// A key in a file, of which `openssl` makes use.
private final class OpenSSLKey: PasskeySigner {
    let cose: [UInt8]
    private let directory: URL

    init(_ algorithm: SoftwarePasskey.Algorithm) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-passkey-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let size = algorithm == .shortRS256 ? 1024 : 2048
        let options =
            algorithm == .es256
            ? ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["RSA", "-pkeyopt", "rsa_keygen_bits:\(size)"]
        try OpenSSL.run(["genpkey", "-quiet", "-out", "key.pem", "-algorithm"] + options, in: directory)
        try OpenSSL.run(["pkey", "-in", "key.pem", "-pubout", "-outform", "DER", "-out", "public"], in: directory)
        let key = [UInt8](try Data(contentsOf: directory.appendingPathComponent("public")))
        if algorithm == .es256 {
            let (x, y) = (key.suffix(64).prefix(32), key.suffix(32))
            cose = [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + x + [0x22, 0x58, 0x20] + y
        } else {
            // The exponent 65537 with its tag and length ends the key.
            let modulus = key.dropLast(5).suffix(size / 8)
            let length = UInt16(modulus.count)
            let head: [UInt8] = [0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59]
            cose = head + [UInt8(length >> 8), UInt8(length & 255)] + modulus + [0x21, 0x43, 0x01, 0x00, 0x01]
        }
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func sign(_ message: [UInt8]) throws -> [UInt8] {
        let name = UUID().uuidString
        let file = directory.appendingPathComponent(name)
        try Data(message).write(to: file)
        try OpenSSL.run(["dgst", "-sha256", "-sign", "key.pem", "-out", "\(name).signature", name], in: directory)
        return [UInt8](try Data(contentsOf: file.appendingPathExtension("signature")))
    }
}
