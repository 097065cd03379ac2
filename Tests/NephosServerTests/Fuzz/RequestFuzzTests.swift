import Foundation
import NephosCrypto
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Requests of a production server whose targets, sessions, signatures and forms are mutated: each is answered, none by an
/// internal error, and none signs a caller in.
@Suite struct RequestFuzzTests {
    /// What breaks parsers: escapes, separators, control characters, long texts and other alphabets.
    private static let pieces = [
        "%", "%2", "%2F", "%00", "%ff", "%E2%82", "+", "/", "//", "..", "?", "&", "=", ";", "#", "\u{0}", "\r\n", "\"",
        "'", "<",
        "é", "\u{301}", "\u{202E}", "🙂", "ckAPIToken", "ckWebAuthToken=", "public", "private", "_defaultZone", "-1",
        "18446744073709551616", String(repeating: "a", count: 5000), String(repeating: "%41", count: 500),
        String(repeating: "/x", count: 300), String(repeating: "a=b&", count: 300),
    ]

    private static func mutated(_ text: String, _ random: inout SeededGenerator) -> String {
        var scalars = Array(text.unicodeScalars)
        for _ in 0...random.below(3) {
            let position = random.below(scalars.count + 1)
            switch random.below(5) {
            case 0:
                scalars.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").unicodeScalars, at: position)
            case 1: scalars.removeSubrange(position..<min(scalars.count, position + 1 + random.below(9)))
            case 2 where position < scalars.count:
                scalars[position] = Unicode.Scalar(UInt8(0x20 + random.below(0x5F)))
            case 3: scalars.insert(contentsOf: scalars[position..<min(scalars.count, position + 20)], at: position)
            default: scalars.reverse()
            }
        }
        return scalars.reduce(into: "") { $0.unicodeScalars.append($1) }
    }

    private static let own = "/database/1/\(ProductionServer.container)/development"

    @Test(arguments: FuzzBudget.seeds)
    func `a mutated target, of a caller with or without a session, is no internal error`(seed: UInt64) async throws {
        let server = try await ProductionServer()
        var random = SeededGenerator(seed: seed)
        let callers: [ProductionServer.Caller] = [.nobody, .apiToken, .session, .administrator]
        for step in 0..<FuzzBudget.steps(1000) {
            let route = Routes.table.randomElement(using: &random) ?? Routes.table[0]
            let caller = callers[random.below(callers.count)]
            var request = await server.request(to: route, as: caller)
            request.target = Self.mutated(request.target, &random)
            if random.chance(3) { request.body = Array(Self.mutated("{}", &random).utf8) }
            let answer = await server.responder.respond(to: request)
            #expect(answer.status != 500, "seed \(seed), step \(step), \(caller): \(request.target)")
            server.advance(milliseconds: 100)
        }
        await server.close()
    }

    @Test(arguments: FuzzBudget.seeds)
    func `a mutated session's token signs nobody in, in a header, a query or a cookie`(seed: UInt64) async throws {
        let server = try await ProductionServer()
        var random = SeededGenerator(seed: seed)
        let apiToken = try await server.makeAPIToken()
        let session = try await server.session(of: "lovelace", apiToken)
        let original = try #require(SecretToken(session)?.hash)
        for step in 0..<FuzzBudget.steps(1000) {
            let text = Self.mutated(session, &random)
            var request = HTTPRequest(
                method: .get, target: "\(Self.own)/private/users/current?ckAPIToken=\(apiToken)",
                host: "cloud.example.org")
            switch random.below(3) {
            case 0: request.authorization = "Bearer \(text)"
            case 1: request.target += "&ckWebAuthToken=\(text)"
            default:
                (request.target, request.cookie) = ("/account", "__Host-nephos-session=\(text)")
            }
            let answer = await server.responder.respond(to: request)
            let isSame = SecretToken(text)?.hash == original
            #expect(
                answer.status != 500 && (isSame || !answer.text.contains("userRecordName")),
                "seed \(seed), step \(step): \(text)")
            #expect(isSame || !answer.text.contains("lovelace"), "seed \(seed), step \(step): \(text)")
            server.advance(milliseconds: 100)
        }
        await server.close()
    }

    @Test(arguments: FuzzBudget.seeds)
    func `a request with mutated headers of a signature, or another body, is not the key's`(seed: UInt64) async throws {
        let server = try await ProductionServer()
        var random = SeededGenerator(seed: seed)
        let key = try await SigningKey()
        let keyID = try await server.installation.createServerKey(
            container: ProductionServer.container, environment: .development, name: "", publicKey: key.publicKey,
            replacing: nil, by: AuditActor(name: "user 0")
        ).keyID
        let target = "\(Self.own)/public/users/current"
        let date = Date(timeIntervalSince1970: Double(server.now / 1000)).formatted(.iso8601)
        let signed = try await key.signed(keyID, target, body: "", date: date)
        for step in 0..<FuzzBudget.steps(1000) {
            var request = HTTPRequest(method: .post, target: target, host: "cloud.example.org")
            var changed = signed
            switch random.below(4) {
            case 0: changed.keyID = Self.mutated(keyID, &random)
            case 1: changed.date = Self.mutated(date, &random)
            case 2: changed.signature = Self.mutated(signed.signature, &random)
            default:
                request.target = Self.mutated(target, &random)
                changed.target = request.target
            }
            if random.chance(4) { request.body = Array(Self.mutated("{}", &random).utf8) }
            request.signature = changed
            // Base64 has several texts of one signature, such as with more padding.
            var same = changed
            if Data(base64Encoded: same.signature) == Data(base64Encoded: signed.signature) {
                same.signature = signed.signature
            }
            if same == signed && request.body.isEmpty { continue }
            let answer = await server.responder.respond(to: request)
            let isRefused = (400..<500).contains(answer.status)
            #expect(isRefused, "seed \(seed), step \(step): \(answer.status) \(answer.text) \(changed)")
        }
        await server.close()
    }

    private static let forms = [
        ("/sign-in", "account=lovelace&password=nine+lives&keep=on&action=continue"),
        ("/account", "action=sign-out&session=all"),
        ("/account", "action=delete&name=lovelace"), ("/login", "code=ABCD-EFGH&action=approve"),
        ("/recover", "address=ada%40example.org"), ("/sign-up", "address=ada%40example.org"),
        ("/link?token=abc", "password=nine+lives+of+a+grey+cat"),
    ]

    @Test(arguments: FuzzBudget.seeds)
    func `a mutated form changes nothing, and is no internal error`(seed: UInt64) async throws {
        let server = try await ProductionServer()
        var random = SeededGenerator(seed: seed)
        let browser = Browser(server)
        for step in 0..<FuzzBudget.steps(600) {
            let (target, fields) = Self.forms[random.below(Self.forms.count)]
            let page = await browser.get(target)
            let answer = await browser.post(target, from: page, Self.mutated(fields, &random))
            #expect(answer.status != 500, "seed \(seed), step \(step), \(target): \(answer.text)")
            #expect(browser.cookie("session") == nil, "seed \(seed), step \(step), \(target)")
            server.advance(milliseconds: 1000)
        }
        #expect(try await server.installation.accountID(named: "lovelace").isEmpty == false)
        await server.close()
    }
}
