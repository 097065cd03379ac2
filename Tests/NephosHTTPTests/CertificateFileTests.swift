import Foundation
import NephosHTTP
import Testing

/// Files of authorities' certificates.
@Suite struct CertificateFileTests {
    /// A sequence of 128 bytes, as far as its length tells.
    private static let body = Data([0x30, 0x81, 0x80] + [UInt8](repeating: 7, count: 128)).base64EncodedString()

    private static func pem(_ body: String, label: String = "CERTIFICATE") -> String {
        "-----BEGIN \(label)-----\n\(body.prefix(64))\n\(body.dropFirst(64))\n-----END \(label)-----\n"
    }

    private func problem(_ text: String) throws -> String? {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        return CertificateFile.problem(file.path)
    }

    @Test(arguments: [
        pem(body), "a comment\n" + pem(body) + "\nanother\n" + pem(body), pem(body, label: "TRUSTED CERTIFICATE"),
        pem(body, label: "X509 CERTIFICATE"), pem(body).replacingOccurrences(of: "\n", with: "\r\n"),
        pem("key", label: "PRIVATE KEY") + pem(body),
    ])
    func `whole certificates are accepted, with any text around them`(text: String) throws {
        #expect(try problem(text) == nil)
    }

    @Test(arguments: [
        ("", "it has no certificate"), (body, "it has no certificate"),
        (pem(body, label: "PRIVATE KEY"), "it has no certificate"),
        (pem(""), "its certificate 1 is not whole"), (pem(String(body.dropLast(8))), "its certificate 1 is not whole"),
        (pem(body) + pem("ABCD"), "its certificate 2 is not whole"),
        (pem(body) + String(pem(body).dropLast(30)), "its certificate 2 is not whole"),
    ])
    func `a file without a whole certificate is refused`(text: String, reason: String) throws {
        #expect(try problem(text)?.hasPrefix(reason) == true)
    }

    @Test func `a file that cannot be read is refused with the reason`() {
        #expect(CertificateFile.problem("/nowhere/ca.pem") == "it cannot be read: No such file or directory")
        #expect(CertificateFile.problem("/tmp") == "it cannot be read: Is a directory")
    }

    @Test func `the authorities of the system are accepted`() {
        #expect(CertificateFile.problem("/etc/ssl/certs/ca-certificates.crt") == nil)
    }
}
