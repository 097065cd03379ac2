import NephosStorage
import Testing

@testable import NephosServer
@testable import NephosService

/// The account's page where a part of what it shows is damaged.
@Suite struct AccountSectionTests {
    @Test func `a section that cannot be read leaves the others, and other accounts' pages`() async throws {
        let server = try await ProductionServer()
        let (browser, other) = (Browser(server), Browser(server))
        let password = ProductionServer.password.replacing(" ", with: "+")
        for (browser, account) in [(browser, "lovelace"), (other, "bob")] {
            let form = await browser.get("/sign-in")
            _ = await browser.post("/sign-in", from: form, "account=\(account)&password=\(password)")
        }
        let alert = "A part of this page cannot be shown now"
        #expect(await browser.get("/account").text.contains(alert) == false)
        try await server.installation.write { transaction in
            let id = try transaction.requireInstallationAccount(named: "lovelace").id
            let name = AccountIdentity.name(id, "x")
            try transaction.put(InstallationEntry(kind: .accountIdentity, name: name, body: [1], expiresAt: 0))
        }
        let page = await browser.get("/account")
        #expect(page.status == 200 && page.text.contains(alert) && !page.text.contains("accountIdentity"))
        #expect(page.text.contains("<h1>lovelace</h1>") && page.text.contains("value=\"delete\""))
        #expect(await other.get("/account").text.contains(alert) == false)
        // What the page offers besides still works.
        let ended = await browser.post("/account", from: page, "action=end-all")
        #expect(ended.status == 303, "\(ended.text)")
        await server.close()
    }
}
