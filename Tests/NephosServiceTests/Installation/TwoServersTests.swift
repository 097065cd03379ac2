import NephosPostgres
import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

/// An installation that two servers over PostgreSQL have.
@Suite struct TwoServersTests {
    private func withServers(_ body: (TestInstallation, Installation, String) async throws -> Void) async throws {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await TestInstallation(stores, failsForLog: false)
        let apiToken = try await test.prepare()
        let other = try await test.again()
        try await body(test, other, apiToken)
        await other.close()
        await test.installation.close()
        stores.close()
    }

    @Test(.overPostgreSQL) func `a signed request is claimed once, by one of the servers`() async throws {
        try await withServers { test, other, _ in
            for number in 0..<20 {
                let key = "signed-\(number)"
                async let here = code { () async throws(ServiceError) in try await test.installation.claim(signed: key)
                }
                async let there = code { () async throws(ServiceError) in try await other.claim(signed: key) }
                let refusals = await [here, there].compactMap(\.self)
                #expect(refusals == [.conflict], "\(number)")
            }
            #expect(await code { () async throws(ServiceError) in try await other.claim(signed: "signed-x") } == nil)
        }
    }

    @Test(.overPostgreSQL) func `an account that one server deletes begins no session on the other`() async throws {
        try await withServers { test, other, apiToken in
            let signIn = SignIn(name: "ada@example.org", password: TestInstallation.password, apiToken: apiToken)
            let before = try await other.signIn(signIn)
            func refusal(_ token: String) async -> ServerErrorCode? {
                await code { () async throws(ServiceError) in
                    try await other.caller(
                        container: TestInstallation.container, environment: .development, apiToken: apiToken,
                        token: token, origin: nil)
                }
            }
            #expect(await refusal(before.token) == nil)
            try await test.installation.beginDeletion(ofAccountNamed: "ada@example.org", by: TestInstallation.root)
            #expect(await code { () async throws(ServiceError) in try await other.signIn(signIn) } == .accessDenied)
        }
    }
}
