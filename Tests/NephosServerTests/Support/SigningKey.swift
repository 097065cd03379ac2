import Foundation
import NephosService

@testable import NephosServer

/// A key pair in files, made by openssl, and the signatures of a server-to-server key.
final class SigningKey: Sendable {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let publicKey: String

    init(curve: String = "prime256v1") async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (key, pem) = (directory.path + "/key.pem", directory.path + "/public.pem")
        _ = try await openssl(["ecparam", "-name", curve, "-genkey", "-noout", "-out", key])
        _ = try await openssl(["ec", "-in", key, "-pubout", "-out", pem])
        publicKey = try String(contentsOfFile: pem, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns a signature in base64; each is another, with another r.
    func sign(_ message: String) async throws -> String {
        let (text, signature) = (directory.path + "/message", directory.path + "/signature")
        try Data(message.utf8).write(to: URL(fileURLWithPath: text))
        _ = try await openssl([
            "dgst", "-sha256", "-sign", directory.path + "/key.pem", "-out", signature, text,
        ])
        return try Data(contentsOf: URL(fileURLWithPath: signature)).base64EncodedString()
    }

    /// Returns the headers of a signed request.
    func signed(_ keyID: String, _ target: String, body: String, date: String) async throws -> SignedRequest {
        let unsigned = SignedRequest(keyID: keyID, date: date, signature: "", body: Array(body.utf8), target: target)
        return SignedRequest(
            keyID: keyID, date: date, signature: try await sign("\(date):\(unsigned.bodyHash):\(target)"),
            target: target)
    }
}
