import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// A production server that sends mail, and the mails that it sent.
final class MailingServer: Sendable {
    let server: ProductionServer
    private let mails = Mutex<[MailMessage]>([])

    init(_ signUp: PeopleSettings.SignUp = .open) async throws {
        let sender = try #require(MailSender("Cloud <no-reply@example.org>"))
        server = try await ProductionServer(
            people: PeopleSettings(
                url: ProductionServer.url, serverName: "cloud.example.org", mail: .init(sender: sender),
                signUp: signUp))
    }

    /// Sends the mails that are queued, and returns the paths of their links.
    func links() async throws -> [String] {
        let outlet = MailOutlet { mail async throws(MailFailure) in self.mails.withLock { $0.append(mail) } }
        while try await server.installation.sendDueMails(to: outlet) > 0 {}
        let taken = mails.withLock { mails in
            defer { mails = [] }
            return mails
        }
        return taken.compactMap { mail in
            mail.body.firstMatch(of: /https:\/\/cloud\.example\.org(\/link\?token=[\w-]+)/).map { String($0.1) }
        }
    }
}

extension ProductionServer {
    /// The password in a form.
    static let formPassword = "password=" + password.replacing(" ", with: "+")

    /// Makes an API token of the container.
    func makeAPIToken(
        name: String = "", origins: [String] = [], callback: String? = nil
    ) async throws -> String {
        try await installation.createAPIToken(
            container: Self.container, environment: .development, name: name, origins: origins, allowsSignIn: true,
            callback: callback, lifetime: nil, by: AuditActor(name: "user 0")
        ).token
    }

    /// The path of the `redirectURL` that an app gets.
    func signInPath(_ apiToken: String, origin: String? = nil) throws -> String {
        "\(SignInPage.path)?\(try #require(installation.signInQuery(apiToken: apiToken, origin: origin)))"
    }

    /// A browser in which an account has signed in to the server's pages.
    func browser(of account: String) async -> Browser {
        let browser = Browser(self)
        let form = await browser.get("/sign-in")
        let done = await browser.post("/sign-in", from: form, "account=\(account)&\(Self.formPassword)")
        #expect(done.status == 303)
        return browser
    }

    /// Sends a request to the container as a session.
    func call(_ path: String, _ apiToken: String, _ session: String, _ body: String) async -> HTTPResponse {
        var request = HTTPRequest(
            method: .post, target: "/database/1/\(Self.container)/development/\(path)?ckAPIToken=\(apiToken)",
            host: "cloud.example.org", body: Array(body.utf8))
        request.authorization = "Bearer \(session)"
        return await responder.respond(to: request)
    }

    /// The token of a new session of an account.
    func session(of account: String, _ apiToken: String) async throws -> String {
        try await installation.signIn(SignIn(name: account, password: Self.password, apiToken: apiToken)).token
    }
}
