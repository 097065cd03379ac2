import Foundation
import Testing

/// The example that shares lists: each step of a device is a process, and each device has its keys in its own directory. The
/// server has none of them.
@Suite final class SharedListsTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lists-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func startServer() async throws -> (StartedNephos, UInt16) {
        let server = try StartedNephos([
            "dev", "--require-approval", "--data", directory.appendingPathComponent("data").path, "--port", "0",
        ])
        return (server, try readyPort(try await server.readyLine()))
    }

    /// A device of an account.
    private struct Device {
        var account: String
        var keys: URL
        var port: UInt16

        private var url: String { "http://127.0.0.1:\(port)" }

        /// Runs the example, which has ended when this returns.
        func lists(_ arguments: String...) async throws -> Finished {
            try await StartedNephos(
                arguments, product: "SharedLists",
                environment: ["NEPHOS_URL": url, "NEPHOS_TOKEN": "dev:\(account)", "NEPHOS_KEYS": keys.path]
            ).finish()
        }

        /// Runs `nephos keys`, which reads a secret from standard input.
        func keys(_ arguments: String..., secret: String = "") async throws -> String {
            let finished = try await StartedNephos(
                ["keys"] + arguments + [
                    "--url", url, "--container", "iCloud.org.example.SharedLists", "--account", account,
                ], environment: ["NEPHOS_KEYS": keys.path], input: typed(secret)
            ).finish()
            #expect(finished.status == 0, "\(finished.errors)")
            return finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    private func device(_ account: String, _ name: String = "phone", port: UInt16) -> Device {
        Device(account: account, keys: directory.appendingPathComponent("\(account)-\(name)"), port: port)
    }

    /// What a process printed that went well.
    private func output(_ finished: Finished) throws -> String {
        try #require(finished.status == 0, "\(finished.output) \(finished.errors)")
        return finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(.timeLimit(.minutes(15)))
    func `two devices share a list, and a third recovers it by the recovery key after a loss`() async throws {
        let (server, port) = try await startServer()
        let (phone, laptop) = (device("mei", "phone", port: port), device("mei", "laptop", port: port))
        _ = try output(try await phone.lists("share", "Food"))
        _ = try output(try await phone.lists("add", "Food", "rice"))
        let refused = try await laptop.lists("show")
        #expect(refused.status == 1 && refused.output.contains("nephos keys code"), "\(refused)")
        _ = try await phone.keys("approve", secret: try await laptop.keys("code"))
        #expect(try output(try await laptop.lists("show")) == "Food: rice")
        let recovery = try await laptop.keys("recovery")
        let lost = try #require(
            try await laptop.keys("list").split(separator: "\n").first { !$0.contains("this device") })
        _ = try await laptop.keys("revoke", String(lost))
        _ = try output(try await laptop.lists("add", "Food", "tea"))
        // Who has found the phone.
        #expect(try await phone.lists("show").status == 1)
        let desktop = device("mei", "desktop", port: port)
        #expect(try await desktop.lists("show").status == 1)
        _ = try await desktop.keys("recover", secret: recovery)
        #expect(try output(try await desktop.lists("show")) == "Food: rice, tea")
        #expect(try await server.stop().status == 0)
    }

    /// The ways to join a list. Each has its own list and account.
    private enum Invitation: String, CaseIterable {
        /// By address: of an account that has keys; of one that has none; of none yet.
        case withKeys, withoutKeys, withoutAccount
        case publicLink, oneTimeURL, zoneWide, approvedRequest

        var account: String { self == .withoutAccount ? "carol@example.org" : rawValue.lowercased() }
        var address: String { account.contains("@") ? account : "\(account)@localhost" }
    }

    @Test(.timeLimit(.minutes(15))) func `every kind of invitation is accepted after the owner's processes have ended`()
        async throws
    {
        let (server, port) = try await startServer()
        let owner = device("mei", port: port)
        // A list of one's own makes keys; a look makes an account.
        _ = try output(try await device(Invitation.withKeys.account, port: port).lists("share", "Own"))
        _ = try output(try await device(Invitation.withoutKeys.account, port: port).lists("show"))
        var urls: [Invitation: String] = [:]
        for invitation in Invitation.allCases {
            urls[invitation] = try await invite(invitation, owner, port)
            _ = try output(try await owner.lists("add", invitation.rawValue, "item of \(invitation)"))
        }
        // Nothing runs as the owner from here on.
        for invitation in Invitation.allCases {
            let guest = device(invitation.account, port: port)
            var url = try #require(urls[invitation])
            #expect(url.contains("#k="), "\(invitation)")
            // Who had keys, or was approved with keys, needs none of the URL's.
            if invitation == .withKeys { url = String(url.prefix { $0 != "#" }) }
            _ = try output(try await guest.lists("accept", url))
            let expected = "\(invitation) (shared with you): item of \(invitation)"
            let shown = try output(try await guest.lists("show")).split(separator: "\n").map(String.init)
            #expect(shown.filter { $0 != "Own: " && $0 != "Own:" } == [expected], "\(invitation)")
            // Another device of the guest's, once it is approved.
            let second = device(invitation.account, "second", port: port)
            _ = try await guest.keys("approve", secret: try await second.keys("code"))
            #expect(try output(try await second.lists("show")).contains(expected), "\(invitation)")
        }
        // A guest writes, and the owner reads it at the next start.
        _ = try output(
            try await device(Invitation.withoutAccount.account, port: port).lists("add", "withoutAccount", "guest's"))
        #expect(
            try output(try await owner.lists("show")).contains("withoutAccount: guest's, item of withoutAccount"))
        // A one-time URL is used up.
        let late = try await device("late", port: port).lists("accept", try #require(urls[.oneTimeURL]))
        #expect(late.status == 1, "\(late)")
        #expect(try await server.stop().status == 0)
    }

    @Test(.timeLimit(.minutes(15))) func `neither the service nor the holder of a link reads a list's name or items`()
        async throws
    {
        let (server, port) = try await startServer()
        let owner = device("mei", port: port)
        let urls = [
            try output(try await owner.lists("share", "Birthday party")),
            try output(try await owner.lists("share-once", "Birthday party, once")),
            try output(try await owner.lists("share-on-request", "Birthday party, asked")),
            try output(try await owner.lists("share-zone", "Birthday party zone")),
        ]
        _ = try output(try await owner.lists("add", "Birthday party", "Birthday cake"))
        let again = try await owner.lists("share", "Birthday party")
        #expect(again.status == 1 && again.output.contains("already"), "\(again)")
        // Ana accepts nothing, and looks at the pages.
        for url in urls {
            let path = try #require(URL(string: url)?.path)
            let page = try await TestConnection(port: port).request("GET", path + "?account=ana")
            #expect(page.text.contains("A list") || page.status == 404, "\(page.text)")
            #expect(!page.text.contains("Birthday") && !url.contains("Birthday"))
        }
        #expect(try await server.stop().status == 0)
        let files = try #require(
            FileManager.default.enumerator(
                at: directory.appendingPathComponent("data"), includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files {
            guard let bytes = try? Data(contentsOf: file) else { continue }
            count += 1
            #expect(bytes.firstRange(of: Data("Birthday".utf8)) == nil, "\(file.lastPathComponent)")
        }
        #expect(count > 0)
    }

    /// - Returns: the URL that the owner hands on.
    private func invite(_ invitation: Invitation, _ owner: Device, _ port: UInt16) async throws -> String {
        let name = invitation.rawValue
        switch invitation {
        case .withKeys, .withoutKeys, .withoutAccount:
            return try output(try await owner.lists("share", name, invitation.address))
        case .publicLink: return try output(try await owner.lists("share", name))
        case .oneTimeURL: return try output(try await owner.lists("share-once", name))
        case .zoneWide: return try output(try await owner.lists("share-zone", name, invitation.address))
        case .approvedRequest:
            let url = try output(try await owner.lists("share-on-request", name))
            _ = try output(try await device(invitation.account, port: port).lists("ask", url))
            _ = try output(try await owner.lists("approve", name))
            return url
        }
    }
}
