import NephosPasskeys
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// What a browser and an authenticator answer to a challenge, which a test may falsify before it is signed.
struct PasskeyAnswer {
    var type: String
    var challenge: String
    var origin = "https://cloud.example.org"
    var crossOrigin = false
    var relyingParty = "cloud.example.org"
    /// The person is present (1) and verified (4).
    var flags: UInt8 = 5
    var counter: UInt32 = 0
    var handle = ""
    var name = "key"

    var clientData: [UInt8] {
        SoftwarePasskey.clientData(type: type, challenge: challenge, origin: origin, crossOrigin: crossOrigin)
    }

    /// The passkey that was made.
    func made(_ passkey: SoftwarePasskey) -> NewPasskey {
        let data = passkey.authenticatorData(relyingParty: relyingParty, flags: flags, counter: counter, isNew: true)
        return NewPasskey(name: name, clientData: clientData, authenticatorData: data)
    }

    /// The sign-in by a passkey.
    /// - Parameter signer: the passkey whose key signs; nil for the same.
    func signed(_ passkey: SoftwarePasskey, by signer: SoftwarePasskey? = nil) throws -> PasskeySignIn {
        let data = passkey.authenticatorData(relyingParty: relyingParty, flags: flags, counter: counter)
        return PasskeySignIn(
            credential: passkey.credential, handle: handle,
            assertion: PasskeyAssertion(
                clientData: clientData, authenticatorData: data,
                signature: try (signer ?? passkey).signature(clientData: clientData, authenticatorData: data)))
    }
}

extension PeopleSettings {
    /// The settings of a server with passkeys.
    static func withPasskeys(url: String = "https://cloud.example.org") -> PeopleSettings {
        var people = PeopleSettings(url: url)
        people.passkeys = FidoVerifier()
        return people
    }
}

extension TestInstallation {
    static let binding = "a browser's page"

    /// Signs a browser in by the password.
    func browser(_ account: String = "ada@example.org") async throws -> BrowserSession {
        var request = SignIn(name: account, password: Self.password, apiToken: nil)
        request.startsBrowserSession = true
        let signedIn = try await installation.signIn(request)
        return try #require(try await installation.browserSession(signedIn.browserToken))
    }

    /// The answer to what the page of a browser's account asks for.
    func creation(_ browser: BrowserSession, _ binding: String = binding) async throws -> PasskeyAnswer {
        let state = try await installation.passkeys(of: browser, binding: binding)
        let creation = try #require(state.creation)
        return PasskeyAnswer(type: "webauthn.create", challenge: creation.challenge, handle: creation.handle)
    }

    /// Adds a passkey.
    /// - Returns: the user handle that the authenticator has.
    @discardableResult
    func add(_ passkey: SoftwarePasskey, to browser: BrowserSession, counter: UInt32 = 0) async throws -> String {
        var answer = try await creation(browser)
        answer.counter = counter
        try await installation.addPasskey(answer.made(passkey), of: browser, binding: Self.binding, address: [])
        return answer.handle
    }

    /// The answer to what the page of a sign-in asks for.
    func request(
        _ handle: String, counter: UInt32 = 0, _ binding: String = binding
    ) async throws -> PasskeyAnswer {
        let request = try #require(try await installation.passkeyRequest(binding: binding))
        return PasskeyAnswer(
            type: "webauthn.get", challenge: request.challenge, counter: counter, handle: handle)
    }

    /// Signs in to the server's pages.
    func signIn(
        by passkey: PasskeySignIn, _ binding: String = binding, apiToken: String? = nil,
        address: [UInt8] = [192, 0, 2, 1]
    ) async throws(ServiceError) -> SignedIn {
        var request = SignIn(name: "", password: "", apiToken: apiToken, label: "browser", address: address)
        request.startsBrowserSession = true
        return try await installation.signIn(by: passkey, request, binding: binding)
    }

    /// The names of an account's passkeys.
    func passkeys(_ account: String = "ada@example.org") async throws -> [String] {
        try await installation.passkeySummaries(ofAccountNamed: account).map(\.name)
    }

    /// The events of the audit, with those that wait in memory.
    func events() async throws -> [String] {
        await installation.finishAudit()
        return try await installation.audit(after: 0).events.flatMap {
            Array(repeating: $0.event, count: $0.count ?? 1)
        }
    }
}

extension TestInstallation {
    /// Makes one with passkeys, and accounts besides the first.
    static func withPasskeys(_ accounts: String...) async throws -> TestInstallation {
        let test = try await TestInstallation(failsForLog: false, people: .withPasskeys())
        _ = try await test.prepare()
        for name in accounts {
            _ = try await test.installation.createAccount(named: name, password: password, by: root)
        }
        return test
    }

    /// Expects that a sign-in is refused, and that no session begins by it.
    func expectRefusal<T>(_ reason: String = "", _ call: () async throws(ServiceError) -> T) async {
        let before = try? await installation.sessionSummaries(ofAccountNamed: "ada@example.org").count
        #expect(await code(call) == .authenticationFailed, "\(reason)")
        let after = try? await installation.sessionSummaries(ofAccountNamed: "ada@example.org").count
        #expect(before == after, "\(reason)")
    }
}
