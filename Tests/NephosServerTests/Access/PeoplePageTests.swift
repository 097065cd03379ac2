import NephosService
import NephosWire
import Synchronization
import Testing

@testable import NephosServer

/// The pages at which people make accounts, verify addresses and set new passwords.
@Suite struct PeoplePageTests {
    /// The mails that a server sent.
    private final class Mailbox: Sendable {
        private let mails = Mutex<[MailMessage]>([])

        var outlet: MailOutlet {
            MailOutlet { mail async throws(MailFailure) in self.mails.withLock { $0.append(mail) } }
        }
        /// Takes all mails.
        func take() -> [MailMessage] {
            mails.withLock { mails in
                defer { mails = [] }
                return mails
            }
        }
    }

    private static let root = AuditActor(name: "user 0")
    private static let ada = "ada@example.org"
    private static let new = "another+long+secret"

    private let mailbox = Mailbox()

    private func server(_ signUp: PeopleSettings.SignUp = .open, sendsMail: Bool = true) async throws
        -> ProductionServer
    {
        let sender = try #require(MailSender("Cloud <no-reply@example.org>"))
        return try await ProductionServer(
            people: PeopleSettings(
                url: ProductionServer.url, serverName: "cloud.example.org",
                mail: sendsMail ? .init(sender: sender) : nil,
                signUp: signUp))
    }

    /// Sends the mails that are queued, and returns them.
    private func mails(_ server: ProductionServer) async throws -> [MailMessage] {
        while try await server.installation.sendDueMails(to: mailbox.outlet) > 0 {}
        return mailbox.take()
    }

    /// The path of the one link in the one mail that is queued.
    private func link(_ server: ProductionServer, to address: String) async throws -> String {
        let mails = try await mails(server)
        #expect(mails.map(\.to.text) == [address])
        return try path(in: try #require(mails.first).body)
    }

    private func path(in text: String) throws -> String {
        String(try #require(text.firstMatch(of: /https:\/\/cloud\.example\.org(\/link\?token=[\w-]+)/), "\(text)").1)
    }

    private func make(_ account: String, _ server: ProductionServer, isVerified: Bool) async throws {
        _ = try await server.installation.createAccount(
            named: account, password: ProductionServer.password, isVerified: isVerified, by: Self.root)
    }

    private func expectSignIn(
        _ browser: Browser, _ account: String, _ password: String, status: Int
    ) async {
        let form = await browser.get("/sign-in?other=1")
        let done = await browser.post("/sign-in?other=1", from: form, "account=\(account)&password=\(password)")
        #expect(done.status == status, "\(done.text)")
    }

    private static let oldPassword = ProductionServer.password.replacing(" ", with: "+")

    // MARK: Sign-up

    @Test func `a person who opened a share's URL is back there after making an account`() async throws {
        let server = try await server()
        let browser = Browser(server)
        let share = "/share/0123456789"
        let signIn = await browser.get("/sign-in?return=%2Fshare%2F0123456789")
        let target = try #require(signIn.text.firstMatch(of: /href="(\/sign-up[^"]+)"/)).1
        let form = await browser.get(String(target))
        let asked = await browser.post(String(target), from: form, "address=Ada@Example.org")
        #expect(asked.status == 200 && asked.text.contains("A mail to that address"))
        let link = try await link(server, to: Self.ada)
        // Opening the link makes nothing.
        for _ in 1...2 { #expect(await Browser(server).get(link).text.contains("Make the account")) }
        #expect(try await server.installation.accounts(after: "").accounts.contains { $0.name == Self.ada } == false)
        let page = await browser.get(link)
        let weak = await browser.post(link, from: page, "password=short")
        #expect(weak.status == 400 && weak.text.contains("fewer than"))
        let done = await browser.post(link, from: page, "password=\(Self.new)")
        #expect(done.status == 303 && done.headers.contains(HTTPHeader("Location", "\(share)#")), "\(done.text)")
        #expect(await browser.get("/account").text.contains("The address is verified"))
        // The link works once.
        #expect(await browser.get(link).status == 404)
        #expect(await browser.post(link, from: page, "password=\(Self.new)").status == 404)
        await expectSignIn(Browser(server), Self.ada, Self.new, status: 303)
        await server.close()
    }

    @Test func `the page answers the same for an address with an account, whose mail says so`() async throws {
        let server = try await server()
        try await make(Self.ada, server, isVerified: false)
        var answers: Set<String> = []
        for address in [Self.ada, "bob@example.org", "ada@example.org"] {
            let browser = Browser(server)
            let form = await browser.get("/sign-up")
            let asked = await browser.post("/sign-up", from: form, "address=\(address)")
            answers.insert("\(asked.status) \(asked.text)")
        }
        #expect(answers.count == 1)
        let mails = try await mails(server)
        #expect(mails.map(\.to.text).sorted() == [Self.ada, Self.ada, "bob@example.org"])
        for mail in mails {
            #expect(mail.body.contains("/link?token=") == (mail.to.text == "bob@example.org"))
            #expect(mail.body.contains("which has one already") == (mail.to.text == Self.ada))
        }
        await server.close()
    }

    @Test func `who asks for another's account does not get to choose its password`() async throws {
        let server = try await server()
        let (stranger, person) = (Browser(server), Browser(server))
        let form = await stranger.get("/sign-up")
        _ = await stranger.post("/sign-up", from: form, "address=\(Self.ada)&password=\(Self.new)")
        let link = try await link(server, to: Self.ada)
        let page = await person.get(link)
        #expect(await person.post(link, from: page, "password=chosen+by+the+person").status == 303)
        await expectSignIn(stranger, Self.ada, Self.new, status: 403)
        await expectSignIn(stranger, Self.ada, "chosen+by+the+person", status: 303)
        await server.close()
    }

    @Test func `two links for one address make one account`() async throws {
        let server = try await server()
        let browser = Browser(server)
        let form = await browser.get("/sign-up")
        for _ in 1...2 { _ = await browser.post("/sign-up", from: form, "address=\(Self.ada)") }
        let links = try await mails(server).map { try path(in: $0.body) }
        #expect(Set(links).count == 2)
        // In the other order than they were sent.
        let pages = [await browser.get(links[1]), await browser.get(links[0])]
        #expect(await browser.post(links[1], from: pages[0], "password=\(Self.new)").status == 303)
        let second = await browser.post(links[0], from: pages[1], "password=yet+another+secret")
        #expect(second.status == 400 && second.text.contains("already"))
        await expectSignIn(Browser(server), Self.ada, Self.new, status: 303)
        await server.close()
    }

    @Test(arguments: [true, false])
    func `an invitation makes an account where sign-ups are by invitation`(_ sendsMail: Bool) async throws {
        let server = try await server(.invitation, sendsMail: sendsMail)
        #expect(await Browser(server).get("/sign-up").status == 404)
        let given = try await server.installation.invite("Ada@example.org", by: Self.root)
        #expect((given == nil) == sendsMail)
        let link = if let given { try path(in: given) } else { try await link(server, to: Self.ada) }
        server.advance(milliseconds: 6 * 24 * 3_600_000)
        let browser = Browser(server)
        let page = await browser.get(link)
        #expect(await browser.post(link, from: page, "password=\(Self.new)").status == 303)
        #expect(await browser.get("/account").text.contains("The address is verified"))
        for address in [Self.ada, "no address", ""] {
            await #expect(throws: ServiceError.self) {
                _ = try await server.installation.invite(address, by: Self.root)
            }
        }
        await server.close()
    }

    @Test func `nobody makes an account where sign-ups are off`() async throws {
        let server = try await server(.off)
        let browser = Browser(server)
        #expect(await browser.get("/sign-up").status == 404)
        #expect(!(await browser.get("/sign-in").text.contains("/sign-up")))
        await #expect(throws: ServiceError.self) { _ = try await server.installation.invite(Self.ada, by: Self.root) }
        await server.close()
    }

    @Test func `a sign-up leads to pages of this server alone`() async throws {
        let server = try await server()
        for path in ["https://evil.example.org", "//evil.example.org", "/link?token=", "/link?token=a%26b", "/status"] {
            let escaped = path.replacing("/", with: "%2F").replacing("?", with: "%3F")
            #expect(await Browser(server).get("/sign-up?return=\(escaped)").status == 400, "\(path)")
        }
        await server.close()
    }

    // MARK: Addresses

    @Test func `an address is verified by its mailbox and its account together`() async throws {
        let server = try await server()
        for name in [Self.ada, "eve@example.org"] { try await make(name, server, isVerified: false) }
        let (ada, eve) = (Browser(server), Browser(server))
        await expectSignIn(ada, Self.ada, Self.oldPassword, status: 303)
        await expectSignIn(eve, "eve@example.org", Self.oldPassword, status: 303)
        let account = await ada.get("/account")
        #expect(account.text.contains("not verified"))
        let asked = await ada.post("/account", from: account, "action=verify")
        #expect(asked.status == 200 && asked.text.contains("has a link"))
        let link = try await link(server, to: Self.ada)
        // Without a session, and with another account's, the link leads to the sign-in.
        for browser in [Browser(server), eve] {
            let page = await browser.get(link)
            #expect(page.text.contains("Sign in as ada@example.org") && !page.text.contains("<form"))
            _ = await browser.post(link, from: page, "")
        }
        #expect(await ada.get("/account").text.contains("not verified"))
        let page = await ada.get(link)
        #expect(page.text.contains("is mine"))
        #expect(await ada.post(link, from: page, "", origin: "https://evil.example.org").status == 403)
        #expect(await ada.post(link, from: page, "").status == 303)
        #expect(await ada.get("/account").text.contains("The address is verified"))
        #expect(await ada.get(link).status == 404)
        #expect(await eve.get("/account").text.contains("not verified"))
        await server.close()
    }

    @Test func `an invitation's address is passed on once it is verified`() async throws {
        let server = try await server()
        try await make(Self.ada, server, isVerified: false)
        let token = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [], allowsSignIn: true,
            lifetime: nil, by: Self.root
        ).token
        let session = try await server.installation.createSession(
            ofAccountNamed: Self.ada, container: ProductionServer.container, environment: .development, label: "",
            by: Self.root)
        func address() async throws -> String? {
            try await server.installation.caller(
                container: ProductionServer.container, environment: .development, apiToken: token, token: session.token,
                origin: nil
            ).address
        }
        #expect(try await address() == nil)
        try await server.installation.verifyAddress(ofAccountNamed: "Ada@example.org", by: Self.root)
        #expect(try await address() == Self.ada)
        await server.close()
    }

    // MARK: Recovery

    @Test func `a new password ends all sessions and is told to the address`() async throws {
        let server = try await server()
        try await make(Self.ada, server, isVerified: true)
        let (browser, thief) = (Browser(server), Browser(server))
        await expectSignIn(thief, Self.ada, Self.oldPassword, status: 303)
        let signIn = await browser.get("/sign-in")
        #expect(signIn.text.contains("href=\"/recover\""))
        let form = await browser.get("/recover")
        for _ in 1...2 { #expect(await browser.post("/recover", from: form, "address=\(Self.ada)").status == 200) }
        let links = try await mails(server).map { try path(in: $0.body) }
        try #require(links.count == 2)
        let page = await browser.get(links[0])
        #expect(await browser.post(links[0], from: page, "password=ada@example.org").status == 400)
        #expect(await thief.get("/account").status == 200)
        #expect(await browser.post(links[0], from: page, "password=\(Self.new)").status == 303)
        #expect(await thief.get("/account").status == 303)
        // The other link was for the former password.
        #expect(await browser.get(links[1]).status == 404)
        let told = try await mails(server)
        #expect(told.map(\.to.text) == [Self.ada] && told.first?.subject.contains("was changed") == true)
        await expectSignIn(thief, Self.ada, Self.oldPassword, status: 403)
        await expectSignIn(browser, Self.ada, Self.new, status: 303)
        await server.close()
    }

    @Test func `a recovery in a browser of another account leaves that account signed in`() async throws {
        let server = try await server()
        let bob = "bob@example.org"
        for account in [Self.ada, bob] { try await make(account, server, isVerified: true) }
        let (browser, own) = (Browser(server), Browser(server))
        await expectSignIn(browser, bob, Self.oldPassword, status: 303)
        await expectSignIn(own, Self.ada, Self.oldPassword, status: 303)
        for (browser, isOwn) in [(browser, false), (own, true)] {
            let link = try await server.installation.makeRecoveryLink(
                ofAccountNamed: Self.ada, by: AuditActor(name: "user 0"))
            let target = try path(in: link)
            if isOwn { await expectSignIn(own, Self.ada, Self.new, status: 303) }
            let page = await browser.get(target)
            let done = await browser.post(target, from: page, "password=\(Self.new)\(isOwn ? "+2" : "")")
            let location = done.headers.first { $0.name == "Location" }?.value
            #expect(done.status == 303 && location?.contains("other=1") == !isOwn, "\(location ?? "none")")
            #expect((browser.cookie("session") != nil) == !isOwn)
        }
        #expect(await browser.get("/account").text.contains("<h1>\(bob)</h1>"))
        await server.close()
    }

    @Test func `known, unknown and unverified addresses have the same answer, and the verified one has a mail`()
        async throws
    {
        let server = try await server()
        try await make(Self.ada, server, isVerified: true)
        try await make("eve@example.org", server, isVerified: false)
        var answers: Set<String> = []
        for address in [Self.ada, "eve@example.org", "nobody@example.org"] {
            let browser = Browser(server)
            let form = await browser.get("/recover")
            let asked = await browser.post("/recover", from: form, "address=\(address)")
            answers.insert("\(asked.status) \(asked.text)")
        }
        #expect(answers.count == 1)
        _ = try await link(server, to: Self.ada)
        await server.close()
    }

    @Test func `an address that is none is refused without what was typed`() async throws {
        let server = try await server()
        let browser = Browser(server)
        for path in ["/recover", "/sign-up"] {
            let form = await browser.get(path)
            let long = String(repeating: "a", count: 300) + "@example.org"
            for address in [
                "", "ada", "ada@example.org%0d%0aBcc:eve@example.org", "<b>@example.org", "ada@@example.org", long,
                "%22ada%22@example.org", "ada%40example.org%3E", "%C3%A4da@example.org", "a@[192.0.2.1]",
            ] {
                let refused = await browser.post(path, from: form, "address=\(address)")
                #expect(refused.status == 400 && refused.text.contains("role=\"alert\""), "\(address)")
                #expect(!refused.text.contains("<b>") && !refused.text.contains("eve@"), "\(address)")
            }
        }
        #expect(try await mails(server).isEmpty)
        await server.close()
    }

    @Test func `an administrator's link sets a password without mail, once, for an hour`() async throws {
        let server = try await server(.off, sendsMail: false)
        #expect(await Browser(server).get("/recover").status == 404)
        try await make(Self.ada, server, isVerified: false)
        let first = try path(
            in: try await server.installation.makeRecoveryLink(ofAccountNamed: Self.ada, by: Self.root))
        let other = try path(in: try await server.installation.makeRecoveryLink(ofAccountNamed: "bob", by: Self.root))
        let browser = Browser(server)
        let page = await browser.get(first)
        #expect(page.text.contains(Self.ada))
        #expect(await browser.post(first, from: page, "password=\(Self.new)").status == 303)
        #expect(await browser.post(first, from: page, "password=yet+another+secret").status == 404)
        await expectSignIn(Browser(server), Self.ada, Self.new, status: 303)
        // The other account's password is as it was.
        await expectSignIn(Browser(server), "bob", Self.oldPassword, status: 303)
        server.advance(milliseconds: 3_600_000)
        #expect(await browser.get(other).status == 404)
        #expect(try await mails(server).isEmpty)
        await server.close()
    }

    @Test func `presses of links that are not valid are counted`() async throws {
        let server = try await server()
        let browser = Browser(server, client: [192, 0, 2, 7])
        let secret = String(repeating: "A", count: 66)
        var statuses: [Int] = []
        for _ in 1...31 {
            let pressed = await browser.postForm(
                "/link?token=\(secret)", of: "/link \(secret)", "password=\(Self.new)")
            statuses.append(pressed.status)
        }
        #expect(statuses.prefix(30).allSatisfy { $0 == 404 } && statuses.last == 429, "\(statuses)")
        await server.close()
    }

    @Test func `mails to an address and for a network are bounded in an hour`() async throws {
        let server = try await server()
        try await make(Self.ada, server, isVerified: true)
        let browser = Browser(server, client: [192, 0, 2, 7])
        let form = await browser.get("/recover")
        var answers: Set<String> = []
        for _ in 1...10 {
            let asked = await browser.post("/recover", from: form, "address=\(Self.ada)")
            answers.insert("\(asked.status) \(asked.text)")
        }
        #expect(answers.count == 1)
        #expect(try await mails(server).count == 5)
        var statuses: [Int] = []
        for index in 1...91 {
            statuses.append(await browser.post("/recover", from: form, "address=n\(index)@example.org").status)
        }
        #expect(statuses == Array(repeating: 200, count: 90) + [429])
        let elsewhere = Browser(server, client: [192, 0, 2, 8])
        let otherForm = await elsewhere.get("/recover")
        #expect(await elsewhere.post("/recover", from: otherForm, "address=n0@example.org").status == 200)
        server.advance(milliseconds: 3_600_000)
        #expect(await browser.post("/recover", from: form, "address=\(Self.ada)").status == 200)
        #expect(try await mails(server).count == 1)
        await server.close()
    }
}
