import Foundation
import Testing

@testable import NephosServer

/// Certificates and keys, before a server has them.
@Suite struct TLSCredentialsTests {
    private func reason(_ certificateFile: String, _ keyFile: String) -> String {
        do throws(TLSFailure) {
            _ = try TLSCredentials.read(certificateFile: certificateFile, keyFile: keyFile)
            return "nothing was refused"
        } catch {
            return error.description
        }
    }

    @Test func `credentials know their names and when they expire`() async throws {
        let made = try await TestCertificate(
            "DNS:cloud.example,DNS:*.cloud.example,IP:192.0.2.1,IP:2001:db8::1", days: 10)
        let credentials = try made.credentials
        #expect(credentials.names == ["cloud.example", "*.cloud.example", "192.0.2.1", "2001:db8::1"])
        let days = credentials.expiry.timeIntervalSinceNow / 86_400
        #expect(days > 9.9 && days <= 10)
        let host = "cloud.example"
        #expect(credentials.refusal(for: host) == nil)
        #expect(credentials.refusal(for: host, at: credentials.start - 1)?.contains("is valid from") == true)
        #expect(credentials.refusal(for: host, at: credentials.expiry)?.contains("expired on") == true)
        #expect(credentials.refusal(for: "other.example")?.contains("not for other.example") == true)
    }

    @Test func `credentials know for which hosts and keys clients refuse them`() async throws {
        let elliptic = try await TestCertificate("DNS:cloud.example").credentials
        #expect(elliptic.problems(for: "cloud.example").isEmpty)
        #expect(
            elliptic.problems(for: "other.example")
                == ["the certificate is not for other.example, the host of --url: clients refuse it"])
        #expect(try await TestCertificate(key: ["rsa:2048"]).credentials.problems(for: "localhost").isEmpty)
        let short = try await TestCertificate(key: ["rsa:1024"]).credentials
        #expect(short.problems(for: "localhost").map { $0.prefix(38) } == ["the certificate's key has 1024 bits: m"])
    }

    @Test func `a certificate without alternative names has its common name`() async throws {
        let made = try await TestCertificate("", commonName: "old.example")
        #expect(try made.credentials.names == ["old.example"])
    }

    @Test func `a key of another certificate is refused, and both files are named`() async throws {
        let (first, second) = (try await TestCertificate(), try await TestCertificate())
        let reason = reason(first.certificateFile, second.keyFile)
        #expect(reason.contains(first.certificateFile) && reason.contains(second.keyFile), "\(reason)")
        #expect(reason.contains("is not that of the certificate"))
    }

    @Test func `files that do not have what they should are refused in words`() async throws {
        let made = try await TestCertificate()
        let (certificate, key) = (made.certificateFile, made.keyFile)
        func write(_ name: String, _ text: String) throws -> String {
            let file = made.directory + "/" + name
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            return file
        }
        let good = try String(contentsOfFile: certificate, encoding: .utf8)
        let other = try await TestCertificate(commonName: "other")
        let foreign = try String(contentsOfFile: other.certificateFile, encoding: .utf8)
        let encrypted = made.directory + "/encrypted"
        _ = try await openssl(["pkcs8", "-topk8", "-in", key, "-out", encrypted, "-passout", "pass:secret"])
        let cases = [
            (key, certificate, "\(key) has no certificate in PEM form"),
            (certificate, certificate, "\(certificate) has no private key in PEM form"),
            (certificate, encrypted, "the key in \(encrypted) is encrypted"),
            (made.directory + "/none", key, "/none does not exist"),
            (try write("empty", ""), key, "empty has no certificate"),
            (
                try write("cut", String(good.dropLast(good.count / 2)) + "\n-----END CERTIFICATE-----\n"), key,
                "cut is damaged"
            ),
            (try write("unsorted", good + foreign), key, "are not in order"),
        ]
        for (certificateFile, keyFile, words) in cases {
            let reason = reason(certificateFile, keyFile)
            #expect(reason.contains(words), "\(reason)")
        }
    }
}
