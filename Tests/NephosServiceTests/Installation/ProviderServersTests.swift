import NephosPostgres
import NephosPostgresTesting
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Sign-ins by a provider at two servers over one database.
@Suite struct ProviderServersTests {
    private static let (secret, ada) = ("a secret of the browser", "ada@example.org")

    private func begin(_ server: Installation, _ lying: LyingProvider) async throws -> LyingProvider.Response {
        let begun = try await server.beginSignIn(by: "a", .page("/account"), browserSecret: Self.secret, address: [])
        return lying.authorize(begun, as: .init("1", Self.ada, isVerified: true))
    }

    private func finish(
        _ response: LyingProvider.Response, _ server: Installation
    ) async throws -> Result<ProviderOutcome, ServiceError> {
        let signIn = try #require(server.providerSignIn(response["state"] ?? "", by: "a"))
        do throws(ServiceError) {
            return .success(
                try await server.signIn(
                    signIn, ProviderResponse(code: response["code"] ?? "", issuer: nil, isError: false),
                    request: SignIn(name: "", password: "", apiToken: nil), browserSecret: Self.secret))
        } catch {
            return .failure(error)
        }
    }

    private func isSignedIn(_ result: Result<ProviderOutcome, ServiceError>) -> Bool {
        if case .success(.signedIn) = result { true } else { false }
    }

    @Test(.overPostgreSQL) func `an answer of a provider counts once at all servers, and a removal at once`()
        async throws
    {
        let clock = TestCloud.Clock()
        let lying = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { clock.now }
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await TestInstallation(
            stores, failsForLog: false, people: try TestInstallation.people().signingIn(by: lying))
        let other = try await test.again()
        for (begins, first, second) in [
            (test.installation, test.installation, other), (test.installation, other, test.installation),
            (other, test.installation, other), (other, other, test.installation),
        ] {
            let response = try await begin(begins, lying)
            #expect(isSignedIn(try await finish(response, first)))
            guard case .failure(let error) = try await finish(response, second) else {
                Issue.record("the answer counted twice")
                continue
            }
            #expect(error.code == .notFound && error.reason.contains("was used"))
        }
        try await other.setPassword(TestInstallation.password, ofAccountNamed: Self.ada, by: TestInstallation.root)
        let response = try await begin(test.installation, lying)
        #expect(
            try await other.removeSignInMethods(ofAccountNamed: Self.ada, id: nil, by: TestInstallation.root) == 1)
        guard case .success(.noAccount(true)) = try await finish(response, test.installation) else {
            Issue.record("a removed provider signs in")
            return
        }
        await other.close()
        await test.installation.close()
        stores.close()
    }
}
