import Foundation
import NephosService
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosServer

/// A production server by whose providers people sign in, and what they see.
final class ProviderServer: Sendable {
    private final class Clock: Sendable {
        let server = Mutex<ProductionServer?>(nil)
        var now: Int64 { server.withLock { $0?.now ?? 1_800_000_000_000 } }
    }

    static let (first, second, apple) = (
        "https://id.example.com", "https://login.example.net/v2", "https://apple.example.com"
    )
    static let ada = LyingProvider.Person("1", "Ada@example.org", isVerified: true, name: "Ada")
    static let bob = LyingProvider.Person("2", "bob@example.org", isVerified: true, name: "Bob")
    private static let names = ["first": first, "second": second, "apple": apple]

    let production: ProductionServer
    let providers: [String: LyingProvider]
    let mails: ProviderMailbox

    /// - Parameters:
    ///   - namesItself: whether the first provider names itself in its answers through the browser.
    ///   - appleKey: the key that signs the secrets of the client at Apple; nil for a server without that provider.
    ///   - kind: the kind of the first provider's keys.
    init(
        _ signUp: PeopleSettings.SignUp = .open, namesItself: Bool = false, appleKey: TestSigningKey? = nil,
        kind: TestSigningKey.Kind = .p256
    ) async throws {
        let (clock, mails) = (Clock(), ProviderMailbox())
        self.mails = mails
        var made: [String: LyingProvider] = [:]
        var known: [IdentityProvider] = []
        for (name, issuer) in Self.names.sorted(by: { $0.key < $1.key }) where name != "apple" || appleKey != nil {
            let isApple = name == "apple"
            let provider = try LyingProvider(
                issuer: issuer, clientID: "client of \(name)", kind: name == "first" ? kind : .p256,
                isLikeApple: isApple,
                namesItself: namesItself && name == "first", now: { clock.now })
            made[name] = provider
            let secret: IdentityProvider.Secret =
                if isApple, let appleKey {
                    .signed(
                        try SignedSecret(teamID: "TEAM123456", keyID: "KEY1234567") {
                            (try? appleKey.sign(Data($0))).map { [UInt8]($0) }
                        })
                } else { .text(provider.secret) }
            known.append(
                try IdentityProvider(
                    name: name, title: "The <\(name)>", issuer: issuer, clientID: provider.clientID, secret: secret,
                    responseMode: isApple ? .formPost : .query))
        }
        providers = made
        let outlet = ProviderOutlet { [made] request async throws(ProviderFailure) in
            let provider = made.values.first { request.url.text.hasPrefix("\($0.issuer)/") }
            guard let provider else { throw .unreachable("nobody is at \(request.url.text)") }
            return provider.answer(request.url.text, form: request.form, authorization: request.authorization)
        }
        let sender = try #require(MailSender("no-reply@example.org"))
        var people = PeopleSettings(
            url: ProductionServer.url, serverName: "cloud.example.org", mail: .init(sender: sender), signUp: signUp)
        people.providers = try ProviderSettings(known, outlet: outlet)
        let production = try await ProductionServer(people: people)
        self.production = production
        clock.server.withLock { $0 = production }
    }

    var installation: Installation { production.installation }

    func close() async { await production.close() }

    func provider(_ name: String) throws -> LyingProvider { try #require(providers[name]) }

    /// The links in the mails that are queued.
    func links() async throws -> [String] {
        while try await installation.sendDueMails(to: mails.outlet) > 0 {}
        return mails.take().compactMap { mail in
            mail.body.firstMatch(of: /https:\/\/cloud\.example\.org(\/link\?token=[\w-]+)/).map { String($0.1) }
        }
    }

    /// The subjects of the mails that are queued.
    func subjects() async throws -> [String] {
        while try await installation.sendDueMails(to: mails.outlet) > 0 {}
        return mails.take().map(\.subject)
    }

    // MARK: The way of a browser

    /// The URL of the provider's page, to which a page of the server leads.
    func target(_ page: HTTPResponse) throws -> String {
        let found = try #require(page.text.firstMatch(of: /<a href="(https:[^"]+)">Continue at/), "\(page.text)")
        return String(found.1).replacing("&amp;", with: "&")
    }

    /// The target to which a provider's answer leads the browser.
    func callback(_ name: String, _ response: LyingProvider.Response) -> String {
        let query = response.sorted { $0.key < $1.key }.map { "\($0.key)=\(PercentEncoding.escaped($0.value))" }
        return "/account/providers/callback/\(name)?\(query.joined(separator: "&"))"
    }

    /// Begins a sign-in by the form of the sign-in page.
    /// - Parameter other: the parameter by which the page is for another sign-in than the browser's; empty for none.
    func start(
        _ browser: Browser, by name: String, for purpose: String = "return=%2Faccount", other: String = "other=1&"
    ) async -> HTTPResponse {
        let page = await browser.get("/sign-in?\(other)\(purpose)")
        let again = page.text.contains("name=\"again\" value=\"1\"") ? "&again=1" : ""
        return await browser.post("/account/providers/start/\(name)", from: page, purpose + again)
    }

    /// Begins a sign-in, and lets the person agree at the provider.
    func agree(
        _ browser: Browser, by name: String, as person: LyingProvider.Person, for purpose: String = "return=%2Faccount"
    ) async throws -> LyingProvider.Response {
        let page = await start(browser, by: name, for: purpose)
        return try provider(name).authorize(try target(page), as: person)
    }

    /// Signs in, to the server's last answer.
    func signIn(
        _ browser: Browser, by name: String, as person: LyingProvider.Person, for purpose: String = "return=%2Faccount"
    ) async throws -> HTTPResponse {
        await browser.get(callback(name, try await agree(browser, by: name, as: person, for: purpose)))
    }

    /// Begins to add a provider at the account's page, and lets the person agree.
    func agreeToAdd(
        _ browser: Browser, _ name: String, as person: LyingProvider.Person
    ) async throws -> LyingProvider.Response {
        let account = await browser.get("/account")
        let page = await browser.post("/account", from: account, "action=add-provider&provider=\(name)")
        return try provider(name).authorize(try target(page), as: person)
    }

    /// Signs in by name and password.
    func signInByPassword(_ browser: Browser, _ account: String) async {
        let password = ProductionServer.password.replacing(" ", with: "+")
        let form = await browser.get("/sign-in?other=1")
        let done = await browser.post("/sign-in?other=1", from: form, "account=\(account)&password=\(password)")
        #expect(done.status == 303, "\(done.text)")
    }

    /// The name of the browser's account; nil if it is not signed in.
    func account(_ browser: Browser) async -> String? {
        await browser.get("/account").text.firstMatch(of: /<h1>([^<]*)<\/h1>/).map { String($0.1) }
    }
}

/// The mails that a server sent.
final class ProviderMailbox: Sendable {
    private let mails = Mutex<[MailMessage]>([])

    var outlet: MailOutlet { MailOutlet { mail async throws(MailFailure) in self.mails.withLock { $0.append(mail) } } }

    func take() -> [MailMessage] {
        mails.withLock { mails in
            defer { mails = [] }
            return mails
        }
    }
}
