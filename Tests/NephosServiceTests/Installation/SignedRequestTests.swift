import NephosWire
import Testing

@testable import NephosService

/// Signatures as clients of CloudKit Web Services make them (reference: web services, server-to-server signature).
@Suite struct SignedRequestTests {
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJtsRSIFBL6Lq1dpKCo7lyGZAX0FU
        SrekMAHdDW4Vh1NdREGf08oDqF8fPxz4oa8bTfbjtQIwn13pxWCpPmQ6Dw==
        -----END PUBLIC KEY-----
        """
    /// The same point.
    private static let compressedKey = """
        -----BEGIN PUBLIC KEY-----
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADJtsRSIFBL6Lq1dpKCo7lyGZAX0FU
        SrekMAHdDW4Vh1M=
        -----END PUBLIC KEY-----
        """
    private static let database = "/database/1/iCloud.org.example.Gallery/development/public"

    @Test(arguments: [
        (
            #"{"query":{"recordType":"Artist"}}"#, "/records/query",
            "MEYCIQD7GEnh3mRv7Jz74386jWTyZxtKU20+pxSxYXYbGiRcWgIhALz/wDsa1Sl1rDcpsSfw4J54i2XGUwhmIkf1byZrnsit"
        ),
        (
            "", "/users/caller?ckjsBuildVersion=2310ProjectDev27&ckjsVersion=2.6.4",
            "MEYCIQDalWLsYtulgcUEQSAh85LzNvf8dpDj/xuAocF4hXaKmAIhAKyL86nSSPjyU70aEgQ3jkdpnTrHDpY7f/urqT91bYbW"
        ),
        (
            "", "/zones/list",
            "MEUCIQDf3MPzUZ0q6EB3ww8a6RUj/jO2zYkRNz7ZQq0S5TFBpwIgTZnAdYJ7aqk+X3jdRorxdrKqNhtL3oUNLuICZCGeZ5k="
        ),
    ])
    func `a client's signature is verified`(_ body: String, _ path: String, _ signature: String) async throws {
        let test = try await TestInstallation()
        let container = "iCloud.org.example.Gallery"
        try await test.installation.createContainer(container, by: TestInstallation.root)
        // 2026-01-15T09:30:00Z
        test.clock.advance(milliseconds: 1_768_469_400_000 - test.clock.now)
        let key = try await test.installation.createServerKey(
            container: container, environment: .development, name: "", publicKey: Self.publicKey, replacing: nil,
            by: TestInstallation.root)
        func request(_ body: String) -> SignedRequest {
            SignedRequest(
                keyID: key.keyID, date: "2026-01-15T09:30:00Z", signature: signature, body: Array(body.utf8),
                target: Self.database + path)
        }
        let caller = try await test.installation.caller(
            container: container, environment: .development, signed: request(body))
        #expect(caller.account == key.user && caller.requestKey?.utf8.count ?? 65 <= Limits.requestKeyLength)
        let refused = await code { () async throws(ServiceError) in
            try await test.installation.caller(
                container: container, environment: .development, signed: request(body + " "))
        }
        #expect(refused == .authenticationFailed)
    }

    @Test func `a key is registered once in a container and environment, in any form, until it is revoked`()
        async throws
    {
        let test = try await TestInstallation()
        let (one, other) = ("iCloud.org.example.Gallery", "iCloud.org.example.Other")
        for container in [one, other] {
            try await test.installation.createContainer(container, by: TestInstallation.root)
        }
        func add(
            _ key: String, _ container: String, _ environment: ContainerEnvironment = .development,
            replacing: String? = nil
        ) async throws(ServiceError) -> String {
            try await test.installation.createServerKey(
                container: container, environment: environment, name: "", publicKey: key, replacing: replacing,
                by: TestInstallation.root
            ).keyID
        }
        let first = try await add(Self.compressedKey, one)
        for key in [Self.publicKey, Self.compressedKey] {
            for replaced in [nil, first] {
                let refused = await code { () async throws(ServiceError) in
                    try await add(key, one, replacing: replaced)
                }
                #expect(refused == .badRequest)
            }
        }
        _ = try await add(Self.publicKey, one, .production)
        _ = try await add(Self.publicKey, other)
        try await test.installation.revokeServerKey(first, by: TestInstallation.root)
        _ = try await add(Self.publicKey, one)
        #expect(try await test.installation.serverKeySummaries(container: one).count == 2)
    }
}
