import Foundation
import NephosPush
import NephosTesting
import Testing

@Suite struct ProviderTokenTests {
    struct Verdict: Decodable {
        struct Header: Decodable, Equatable {
            var alg: String
            var kid: String
        }
        struct Claims: Decodable, Equatable {
            var iss: String
            var iat: Int64
        }
        var problem: String?
        var header: Header?
        var claims: Claims?
    }

    func identifier(_ random: inout some RandomNumberGenerator) -> String {
        String((0..<10).compactMap { _ in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement(using: &random) })
    }

    @Test func `another implementation verifies every token and reads its claims`() async throws {
        let seed: UInt64 = 1
        var random = SeededGenerator(seed: seed)
        let key = try #require(SigningKey(pem: Array(SampleKeys.p256.utf8)))
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("key.p8")
            try Data(SampleKeys.p256.utf8).write(to: file)
            let checker = try StandIn("provider_token", arguments: [file.path])
            var expected: [(ProviderIdentity, Int64)] = []
            var tokens = ""
            // 300 signatures: one in 128 has an r or s with a leading zero, where a fixed size goes wrong.
            for _ in 0..<300 {
                let identity = try ProviderIdentity(
                    key: key, keyID: identifier(&random), teamID: identifier(&random))
                let issued = Int64.random(in: 0...4_102_444_800, using: &random)
                tokens += try #require(identity.token(issuedAt: issued)) + "\n"
                expected.append((identity, issued))
            }
            try checker.write(tokens)
            for (identity, issued) in expected {
                let verdict = try JSONDecoder().decode(Verdict.self, from: Data(await checker.line()))
                #expect(verdict.problem == nil, "seed \(seed)")
                #expect(verdict.header == Verdict.Header(alg: "ES256", kid: identity.keyID), "seed \(seed)")
                #expect(verdict.claims == Verdict.Claims(iss: identity.teamID, iat: issued), "seed \(seed)")
            }
        }
    }

    @Test func `a key that is not on P-256 is refused`() {
        #expect(SigningKey(pem: Array(SampleKeys.p256.utf8)) != nil)
        #expect(SigningKey(pem: Array(SampleKeys.p384.utf8)) == nil)
        #expect(SigningKey(pem: Array(SampleKeys.ed25519.utf8)) == nil)
        #expect(SigningKey(pem: []) == nil)
        #expect(SigningKey(pem: Array(SampleKeys.p256.utf8.dropLast(60))) == nil)
    }

    @Test func `damaged keys are refused or still sign`() {
        let seed: UInt64 = 1
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var pem = Array(SampleKeys.p256.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                pem[Int.random(in: pem.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            if let key = SigningKey(pem: pem), let signature = key.sign([1, 2, 3]) {
                #expect(signature.count == 64, "seed \(seed)")
            }
        }
    }

    @Test(arguments: ["", "abc123defg", "ABC123DEF", "ABC123DEFGH", "ABC 23DEFG", "ÄBC123DEF", "ABC123DEF\n"])
    func `an identifier is ten capital letters and digits`(_ identifier: String) throws {
        let key = try #require(SigningKey(pem: Array(SampleKeys.p256.utf8)))
        #expect(throws: NotificationSetupError.self) {
            try ProviderIdentity(key: key, keyID: identifier, teamID: "DEF123GHIJ")
        }
        #expect(throws: NotificationSetupError.self) {
            try ProviderIdentity(key: key, keyID: "ABC123DEFG", teamID: identifier)
        }
    }

    // MARK: - When it is replaced

    @Test func `a token is used for forty minutes`() {
        let rules = ProviderTokenRules(issuedAt: 10_000)
        #expect(!rules.isOver(now: 10_000))
        #expect(!rules.isOver(now: 10_000 + 40 * 60 - 1))
        #expect(rules.isOver(now: 10_000 + 40 * 60))
    }

    @Test func `a token from the future is replaced`() {
        #expect(ProviderTokenRules(issuedAt: 10_000).isOver(now: 9_999))
    }

    @Test func `a refused token is replaced once in twenty minutes`() {
        #expect(ProviderTokenRules(issuedAt: 10_000).mayReplaceRefused(now: 10_001))
        let again = ProviderTokenRules(issuedAt: 10_001, refusedAt: 10_001)
        #expect(!again.mayReplaceRefused(now: 10_002))
        #expect(!again.mayReplaceRefused(now: 10_001 + 20 * 60 - 1))
        #expect(again.mayReplaceRefused(now: 10_001 + 20 * 60))
    }
}
