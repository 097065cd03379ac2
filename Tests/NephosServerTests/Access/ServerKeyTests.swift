import Foundation
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Requests that a server-to-server key signed.
@Suite struct ServerKeyTests {
    private static let path = "/database/1/\(ProductionServer.container)/development/public/records/modify"
    private static let root = AuditActor(name: "user 0")

    private func date(_ server: ProductionServer, offset: Int64 = 0) -> String {
        let time = Date(timeIntervalSince1970: Double((server.now + offset) / 1000))
        return time.formatted(.iso8601)
    }

    private func add(
        _ key: SigningKey, _ server: ProductionServer, container: String = ProductionServer.container,
        _ environment: ContainerEnvironment = .development, replacing: String? = nil
    ) async throws -> ServerKeySummary {
        try await server.installation.createServerKey(
            container: container, environment: environment, name: "", publicKey: key.publicKey, replacing: replacing,
            by: Self.root)
    }

    private func send(
        _ server: ProductionServer, _ target: String, keyID: String, date: String, signature: String, body: String,
        authorization: String? = nil
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: .post, target: target, host: "cloud.example.org", body: Array(body.utf8))
        request.signature = SignedRequest(keyID: keyID, date: date, signature: signature, target: target)
        request.authorization = authorization
        return await server.responder.respond(to: request)
    }

    /// Signs a request in one of the ways of clients, and sends it.
    private func call(
        _ server: ProductionServer, _ key: SigningKey, _ keyID: String, _ target: String = path, body: String,
        signsQuery: Bool = true, hash: String? = nil, date: String? = nil
    ) async throws -> HTTPResponse {
        let date = date ?? self.date(server)
        let hash =
            hash ?? SignedRequest(keyID: "", date: "", signature: "", body: Array(body.utf8), target: "").bodyHash
        let signed = signsQuery ? target : String(target.prefix { $0 != "?" })
        let signature = try await key.sign("\(date):\(hash):\(signed)")
        return await send(server, target, keyID: keyID, date: date, signature: signature, body: body)
    }

    private static func save(_ name: String) -> String {
        #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note"}}]}"#
    }

    private func user(_ answer: HTTPResponse) throws -> String {
        let text = String(decoding: answer.body, as: UTF8.self)
        return String(try #require(text.firstMatch(of: /"userRecordName":"([^"]+)"/), "\(text)").1)
    }

    @Test func `the signatures of each client are accepted, and saves are those of the key's user`() async throws {
        let server = try await ProductionServer()
        let (key, other) = (try await SigningKey(), try await SigningKey())
        let id = try await add(key, server).keyID
        let target = "/database/1/\(ProductionServer.container)/development/public/users/current"
        let own = try user(try await call(server, key, id, target + "?ckjsVersion=2.6.4", body: ""))
        for (signsQuery, hash) in [(false, nil), (true, ""), (false, "")] as [(Bool, String?)] {
            let answer = try await call(
                server, key, id, target + "?ckjsVersion=2.6.4", body: "", signsQuery: signsQuery, hash: hash)
            #expect(try user(answer) == own)
        }
        let saved = try await call(server, key, id, body: Self.save("a"))
        #expect(saved.status == 200 && String(decoding: saved.body, as: UTF8.self).contains(own))
        // Another key has another user; one that replaces it has the same.
        let replacing = try await add(other, server, replacing: id).keyID
        #expect(try user(try await call(server, other, replacing, target, body: "")) == own)
        let third = try await add(try await SigningKey(), server)
        #expect(
            third.user
                != (try await server.installation.serverKeySummaries(container: nil).first { $0.keyID == id }?.user))
        try await server.installation.revokeServerKey(id, by: Self.root)
        #expect(try await call(server, key, id, target, body: "").status == 401)
        #expect(try user(try await call(server, other, replacing, target, body: "")) == own)
        await server.close()
    }

    @Test func `a signature is for its request, container, environment and time`() async throws {
        let server = try await ProductionServer()
        let (key, other) = (try await SigningKey(), try await SigningKey())
        let id = try await add(key, server).keyID
        let elsewhere = try await add(key, server, container: "iCloud.other").keyID
        let production = try await add(key, server, .production).keyID
        let unknown = String(repeating: "a", count: 64)
        for (keyID, pair) in [(elsewhere, key), (production, key), (id, other), (unknown, key), ("", key)] {
            #expect(try await call(server, pair, keyID, body: Self.save("a")).status == 401)
        }
        let now = date(server)
        let hash = SignedRequest(
            keyID: "", date: "", signature: "", body: Array(Self.save("a").utf8), target: ""
        ).bodyHash
        let signature = try await key.sign("\(now):\(hash):\(Self.path)")
        for (target, date, text, body) in [
            (Self.path, now, signature, Self.save("b")), (Self.path + "x", now, signature, Self.save("a")),
            (Self.path, date(server, offset: 1000), signature, Self.save("a")),
            (Self.path, now, "", Self.save("a")), (Self.path, now, "AAAA", Self.save("a")),
            (Self.path, now, "!", Self.save("a")), (Self.path, "", signature, Self.save("a")),
        ] {
            let status = await send(server, target, keyID: id, date: date, signature: text, body: body).status
            #expect(status == 401 || status == 404, "\(target) \(date) \(text)")
        }
        // The empty hash is for requests without a body.
        #expect(try await call(server, key, id, body: Self.save("a"), hash: "").status == 401)
        for offset in [-600_000, 600_000] as [Int64] {
            let body = Self.save("in time \(offset)")
            let answer = try await call(server, key, id, body: body, date: date(server, offset: offset))
            #expect(answer.status == 200, "\(answer.text)")
            let late = date(server, offset: offset + (offset < 0 ? -1000 : 1000))
            #expect(try await call(server, key, id, body: Self.save("late"), date: late).status == 401)
        }
        for date in ["2027-01-15", "2027-13-15T09:30:00Z", "2027-01-15T09:30:00+00:00", "x"] {
            #expect(try await call(server, key, id, body: Self.save("a"), date: date).status == 401, "\(date)")
        }
        await server.close()
    }

    @Test func `a key reaches the public database alone, without a token besides`() async throws {
        let server = try await ProductionServer()
        let key = try await SigningKey()
        let id = try await add(key, server).keyID
        for target in [
            Self.path.replacing("public", with: "private"), Self.path.replacing("public", with: "shared"),
            "/device/1/\(ProductionServer.container)/development/tokens/create",
            "/nephos/1/installation/accounts/list", "/nephos/1/\(ProductionServer.container)/development/schema/reset",
        ] {
            #expect(try await call(server, key, id, target, body: "{}").status == 401, "\(target)")
        }
        #expect(try await call(server, key, id, Self.path + "?ckAPIToken=a", body: "{}").status == 400)
        let now = date(server)
        let signature = try await key.sign("\(now)::\(Self.path)")
        let both = await send(
            server, Self.path, keyID: id, date: now, signature: signature, body: "", authorization: "Bearer x")
        #expect(both.status == 400)
        await server.close()
    }

    @Test func `a signed save is carried out once, also with the other form of its signature`() async throws {
        let server = try await ProductionServer()
        let key = try await SigningKey()
        let id = try await add(key, server).keyID
        let body = #"{"operations":[{"operationType":"create","record":{"recordType":"Note"}}]}"#
        let now = date(server)
        let hash = SignedRequest(keyID: "", date: "", signature: "", body: Array(body.utf8), target: "").bodyHash
        let message = "\(now):\(hash):\(Self.path)"
        let (first, second) = (try await key.sign(message), try await key.sign(message))
        func save(_ signature: String) async throws -> String {
            let answer = await send(server, Self.path, keyID: id, date: now, signature: signature, body: body)
            let text = String(decoding: answer.body, as: UTF8.self)
            return String(try #require(text.firstMatch(of: /"recordName":"([^"]+)"/), "\(text)").1)
        }
        let name = try await save(first)
        #expect(try await save(first) == name)
        #expect(try await save(try Self.otherForm(of: first)) == name)
        // Another signature of the same message is another request.
        #expect(try await save(second) != name)
        await server.close()
    }

    /// Returns the signature with n − s in place of s.
    private static func otherForm(of signature: String) throws -> String {
        let bytes = [UInt8](try #require(Data(base64Encoded: signature)))
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
            0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        // SEQUENCE, length, INTEGER, length, r, INTEGER, length, s
        let r = Array(bytes[2..<(4 + Int(bytes[3]))])
        var s = Array(bytes[(2 + r.count + 2)...].drop { $0 == 0 })
        s = [UInt8](repeating: 0, count: 32 - s.count) + s
        var (difference, borrow) = ([UInt8](repeating: 0, count: 32), 0)
        for index in (0..<32).reversed() {
            let value = Int(order[index]) - Int(s[index]) - borrow
            borrow = value < 0 ? 1 : 0
            difference[index] = UInt8(truncatingIfNeeded: value)
        }
        difference = Array(difference.drop { $0 == 0 })
        if (difference.first ?? 0) >= 0x80 { difference.insert(0, at: 0) }
        let content = r + [2, UInt8(difference.count)] + difference
        return Data([0x30, UInt8(content.count)] + content).base64EncodedString()
    }

    @Test func `what is no public key of P-256 is refused`() async throws {
        let server = try await ProductionServer()
        let pair = try await SigningKey()
        let other = try await SigningKey(curve: "secp384r1")
        let secret = try String(contentsOfFile: pair.directory.path + "/key.pem", encoding: .utf8)
        for text in ["", "x", other.publicKey, secret, String(repeating: "x", count: 100_000)] {
            await #expect(throws: ServiceError.self) {
                try await server.installation.createServerKey(
                    container: ProductionServer.container, environment: .development, name: "", publicKey: text,
                    replacing: nil, by: Self.root)
            }
        }
        // A key takes over the user of one of its own container alone.
        let elsewhere = try await add(pair, server, container: "iCloud.other").keyID
        await #expect(throws: ServiceError.self) { try await add(pair, server, replacing: elsewhere) }
        await server.close()
    }

    // MARK: Uploads

    /// Returns the path to which a key may upload a file.
    private func uploadPath(_ server: ProductionServer, _ key: SigningKey, _ keyID: String) async throws -> String {
        try ProductionServer.uploadPath(
            try await call(
                server, key, keyID, Self.path.replacing("records/modify", with: "assets/upload"),
                body: ProductionServer.uploadRequest))
    }

    @Test func `an upload ends with its key, and that of the key that replaced it goes on`() async throws {
        let server = try await ProductionServer()
        let (key, other) = (try await SigningKey(), try await SigningKey())
        let id = try await add(key, server).keyID
        let replacing = try await add(other, server, replacing: id).keyID
        try await server.expectUploadEnds(
            at: try await uploadPath(server, key, id), notAt: try await uploadPath(server, other, replacing), then: 401
        ) { try await server.installation.revokeServerKey(id, by: Self.root) }
        await server.close()
    }
}
