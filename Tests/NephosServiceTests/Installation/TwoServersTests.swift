import NephosPostgres
import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

/// Signed requests and deletions of an installation, also with two servers over PostgreSQL.
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
                async let here = code { () async throws(ServiceError) in
                    try await test.installation.claim(signed: key, by: "key")
                }
                async let there = code { () async throws(ServiceError) in try await other.claim(signed: key, by: "key")
                }
                let refusals = await [here, there].compactMap(\.self)
                #expect(refusals == [.conflict], "\(number)")
            }
            #expect(
                await code { () async throws(ServiceError) in try await other.claim(signed: "signed-x", by: "key") }
                    == nil)
        }
    }

    @Test func `a key's claims of a minute are bounded, and another key's go on`() async throws {
        let test = try await TestInstallation()
        func claim(_ number: Int, by key: String) async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await test.installation.claim(signed: "\(key)-\(number)", by: key)
            }
        }
        for number in 0..<Limits.claimsPerMinute { #expect(await claim(number, by: "a") == nil) }
        #expect(await claim(Limits.claimsPerMinute, by: "a") == .throttled)
        #expect(await claim(0, by: "b") == nil)
        test.clock.advance(milliseconds: 60_000)
        #expect(await claim(Limits.claimsPerMinute, by: "a") == nil)
        await test.installation.close()
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
            try await test.installation.beginDeletion(
                ofAccountNamed: "ada@example.org", erasesPublicRecords: false, by: TestInstallation.root)
            #expect(await code { () async throws(ServiceError) in try await other.signIn(signIn) } == .accessDenied)
        }
    }
}
