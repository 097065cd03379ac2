import Foundation
import NephosPasskeys
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// What a restored installation accepts of before. The backup may lack the use of what counts once.
@Suite struct RestoredInstallationTests {
    private static let browser = "a secret of the browser"

    /// An installation that was backed up, with a challenge and a sign-in by a provider that nobody used yet.
    private struct BackedUp {
        var people: PeopleSettings
        var path: String
        var passkey: SoftwarePasskey
        var handle: String
        var challenged: PasskeySignIn
        var response: LyingProvider.Response
        var token: String
    }

    private func withTemporaryDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        try await body(directory)
    }

    private func makeBackup(in directory: URL) async throws -> BackedUp {
        let clock = TestCloud.Clock()
        let lying = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { clock.now }
        var people = try TestInstallation.people().signingIn(by: lying)
        people.passkeys = FidoVerifier()
        let path = directory.appendingPathComponent("backup").path
        let stores = try DataDirectory(path: path)
        let test = try await TestInstallation(stores, failsForLog: false, people: people)
        let apiToken = try await test.prepare()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let begun = try await test.installation.beginSignIn(
            by: "a", .page("/account"), browserSecret: Self.browser, address: [])
        let backedUp = BackedUp(
            people: people, path: path, passkey: passkey, handle: handle,
            challenged: try await test.request(handle).signed(passkey),
            response: lying.authorize(begun, as: .init("1", "eve@example.org", isVerified: true)),
            token: try await test.signIn(apiToken: apiToken).token)
        await test.installation.close()
        stores.close()
        return backedUp
    }

    /// Opens a copy of the backup.
    private func withCopy(
        of backedUp: BackedUp, isRestored: Bool, _ body: (TestInstallation) async throws -> Void
    ) async throws {
        let path = (backedUp.path as NSString).deletingLastPathComponent + "/\(UUID().uuidString)"
        let target = try DataDirectory(path: path)
        try StoredDirectory(path: backedUp.path).copyDatabase(
            .installation, to: path, asNewIncarnation: isRestored)
        let test = try await TestInstallation(target, failsForLog: false, people: backedUp.people)
        try await body(test)
        await test.installation.close()
        target.close()
    }

    private func signInByProvider(_ backedUp: BackedUp, _ test: TestInstallation) async throws -> ProviderOutcome {
        let response = backedUp.response
        return try await test.installation.signIn(
            try #require(test.installation.providerSignIn(response["state"] ?? "", by: "a")),
            ProviderResponse(code: response["code"] ?? "", issuer: nil, isError: false),
            request: SignIn(name: "", password: "", apiToken: nil), browserSecret: Self.browser)
    }

    @Test func `a restore ends challenges, sign-ins by providers and sessions, and keeps passkeys`() async throws {
        try await withTemporaryDirectory { directory in
            let backedUp = try await makeBackup(in: directory)
            // The same database, moved: everything goes on.
            try await withCopy(of: backedUp, isRestored: false) { test in
                _ = try await test.signIn(by: backedUp.challenged)
                _ = try await test.installation.session(backedUp.token)
            }
            for _ in 1...2 {
                try await withCopy(of: backedUp, isRestored: true) { test in
                    let refused = await #expect(throws: ServiceError.self) {
                        try await test.signIn(by: backedUp.challenged)
                    }
                    #expect(refused?.reason.contains("was used before") == true)
                    let over = await #expect(throws: ServiceError.self) {
                        _ = try await signInByProvider(backedUp, test)
                    }
                    #expect(over?.code == .notFound)
                    let ended = await #expect(throws: ServiceError.self) {
                        _ = try await test.installation.session(backedUp.token)
                    }
                    #expect(ended?.clientCode == .notAuthenticated)
                    let again = try await test.request(backedUp.handle).signed(backedUp.passkey)
                    _ = try await test.signIn(by: again)
                }
            }
            // Only now is the provider's code used.
            try await withCopy(of: backedUp, isRestored: false) { test in
                guard case .signedIn = try await signInByProvider(backedUp, test) else {
                    Issue.record("the sign-in by the provider does not go on")
                    return
                }
            }
        }
    }

    @Test func `a restore of a backup ends the challenges of another restore of it`() async throws {
        try await withTemporaryDirectory { directory in
            let backedUp = try await makeBackup(in: directory)
            var earlier: PasskeySignIn?
            try await withCopy(of: backedUp, isRestored: true) { test in
                earlier = try await test.request(backedUp.handle).signed(backedUp.passkey)
            }
            let challenged = try #require(earlier)
            try await withCopy(of: backedUp, isRestored: true) { test in
                await #expect(throws: ServiceError.self) { try await test.signIn(by: challenged) }
                let again = try await test.request(backedUp.handle).signed(backedUp.passkey)
                _ = try await test.signIn(by: again)
            }
        }
    }
}
