import NephosTesting
import Synchronization
import Testing

/// A browser with cookies at `nephos serve`, which is a process of its own. Each request has a connection of its own.
final class ProgramBrowser: Sendable {
    /// The origin of the server's pages.
    let origin: String
    private let port: UInt16
    private let cookies = Mutex<[String: String]>([:])

    init(_ served: ServedInstallation) { (origin, port) = (served.url, served.port) }

    func get(_ target: String) async throws -> TestResponse { try await send("GET", target) }

    /// Sends the form of a page, with its hidden fields and others.
    func post(_ target: String, from page: TestResponse, _ fields: String) async throws -> TestResponse {
        let form = page.text.firstMatch(of: /name="form" value="([0-9a-f]{64})"/).map { "form=\($0.1)&" } ?? ""
        return try await send("POST", target, form + fields)
    }

    private func send(_ method: String, _ target: String, _ body: String? = nil) async throws -> TestResponse {
        var headers = ["Host": String(origin.dropFirst("http://".count)), "Connection": "close"]
        headers["Cookie"] = cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        if body != nil { headers["Origin"] = origin }
        let response = try await TestConnection(port: port).request(method, target, headers: headers, body: body)
        for cookie in response.cookies {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            let isRemoved = cookie.contains("Max-Age=0")
            cookies.withLock { $0[String(pair[0])] = isRemoved ? nil : String(pair.last ?? "") }
        }
        return response
    }
}

/// What the script of a page does with an authenticator.
enum PasskeyForm {
    /// The handle that the page gives the account's authenticators.
    static func handle(_ page: TestResponse) throws -> String {
        let user = /&quot;user&quot;:\{[^}]*&quot;id&quot;:&quot;([^&]*)&quot;/
        return String(try #require(page.text.firstMatch(of: user), "\(page.text)").1)
    }

    /// The fields of a new passkey.
    static func made(_ passkey: SoftwarePasskey, _ page: TestResponse, _ origin: String, name: String) throws -> String
    {
        let client = try clientData("webauthn.create", page, origin)
        let data = passkey.authenticatorData(relyingParty: "localhost", isNew: true)
        return "action=add-passkey&clientData=\(SoftwarePasskey.base64URL(client))"
            + "&authenticatorData=\(SoftwarePasskey.base64URL(data))&name=\(name)"
    }

    /// The fields of a sign-in.
    static func signed(
        _ passkey: SoftwarePasskey, _ handle: String, _ page: TestResponse, _ origin: String
    ) throws -> String {
        let client = try clientData("webauthn.get", page, origin)
        let data = passkey.authenticatorData(relyingParty: "localhost")
        let signature = try passkey.signature(clientData: client, authenticatorData: data)
        return "action=passkey&credential=\(passkey.credential)&handle=\(handle)"
            + "&clientData=\(SoftwarePasskey.base64URL(client))&authenticatorData=\(SoftwarePasskey.base64URL(data))"
            + "&signature=\(SoftwarePasskey.base64URL(signature))"
    }

    private static func clientData(_ type: String, _ page: TestResponse, _ origin: String) throws -> [UInt8] {
        let challenge = /data-passkey="[^"]*&quot;challenge&quot;:&quot;([^&]*)&quot;/
        let found = try #require(page.text.firstMatch(of: challenge), "\(page.text)").1
        return SoftwarePasskey.clientData(type: type, challenge: String(found), origin: origin)
    }
}
