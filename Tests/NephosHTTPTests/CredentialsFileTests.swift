import Foundation
import Testing

@testable import NephosHTTP

/// The file of what `nephos login` got.
@Suite struct CredentialsFileTests {
    private func withFile(_ body: (CredentialsFile) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(CredentialsFile(path: directory + "/nephos/credentials.json"))
    }

    private func credential(_ server: String, _ container: String?, token: String = "t") -> StoredCredential {
        StoredCredential(
            server: CredentialsFile.server(server), container: container,
            environment: container == nil ? nil : "development", apiToken: nil, token: token, account: "ada", expires: 1
        )
    }

    @Test func `credentials are kept in a file that its owner alone reads`() throws {
        try withFile { file in
            #expect(try file.read() == [])
            let (first, second) = (credential("https://a.org", "iCloud.a"), credential("https://b.org", nil))
            try file.update { $0.append(first) }
            try file.update { $0.append(second) }
            #expect(try file.read() == [first, second])
            for (path, mode) in [(file.path, 0o600), ((file.path as NSString).deletingLastPathComponent, 0o700)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(path)")
            }
            for mode in [0o640, 0o604] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
                #expect(throws: CredentialsFile.Failure.self) { try file.read() }
                #expect(throws: CredentialsFile.Failure.self) { try file.update { $0 = [] } }
            }
        }
    }

    @Test(arguments: ["", "{}", "[{}]", "[1]", "\u{0}"])
    func `what is no file of credentials is refused and kept`(_ text: String) throws {
        try withFile { file in
            try file.update { $0 = [] }
            try Data(text.utf8).write(to: URL(fileURLWithPath: file.path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            #expect(throws: CredentialsFile.Failure.self) { try file.update { $0 = [] } }
            #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == Data(text.utf8))
        }
    }

    @Test func `an app finds the credential of its container, or the only one of the server`() {
        let all = [
            credential("https://a.org", "iCloud.a", token: "1"), credential("https://a.org", "iCloud.b", token: "2"),
            credential("https://a.org", nil, token: "3"), credential("https://b.org", "iCloud.c", token: "4"),
        ]
        func token(_ server: String, _ container: String, _ environment: String = "development") -> String? {
            all.credential(server: CredentialsFile.server(server), container: container, environment: environment)?
                .token
        }
        #expect(token("https://a.org", "iCloud.b") == "2")
        #expect(token("https://A.org:443/", "iCloud.a") == "1")
        #expect(token("https://a.org", "iCloud.other") == nil)
        #expect(token("https://b.org", "iCloud.other") == "4")
        #expect(token("https://b.org", "iCloud.c", "production") == nil)
        #expect(token("http://a.org", "iCloud.a") == nil)
        #expect(all.administration(server: CredentialsFile.server("https://a.org"))?.token == "3")
        #expect(all.administration(server: CredentialsFile.server("https://b.org")) == nil)
    }

    @Test func `the file is where the variables say`() {
        #expect(CredentialsFile(["HOME": "/users/ada"]).path == "/users/ada/.config/nephos/credentials.json")
        #expect(CredentialsFile(["HOME": "/h", "XDG_CONFIG_HOME": "/x"]).path == "/x/nephos/credentials.json")
        #expect(CredentialsFile(["HOME": "/h", "NEPHOS_CREDENTIALS": "/f"]).path == "/f")
    }
}
