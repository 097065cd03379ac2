import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite struct InstallationTests {
    @Test func `accounts are listed by name, and a name is one account in every spelling`() async throws {
        let test = try await TestInstallation()
        for name in ["bob", "Ada@example.org", "cafe\u{301}"] {
            _ = try await test.installation.createAccount(named: name, password: nil, by: TestInstallation.root)
        }
        for name in ["BOB", "ada@EXAMPLE.org", "café", "bob@localhost"] {
            #expect(
                await code { () async throws(ServiceError) in
                    try await test.installation.createAccount(named: name, password: nil, by: TestInstallation.root)
                } == .exists)
        }
        #expect(
            try await test.installation.accounts(after: "").accounts.map(\.name) == ["ada@example.org", "bob", "café"])
        #expect(try await test.installation.accounts(after: "bob").accounts.map(\.name) == ["café"])
        #expect(try await test.installation.accounts(after: "").next == nil)
        for name in ["", " a", "a\n", "a\u{202E}b", "id:0123", String(repeating: "a", count: 255)] {
            #expect(
                await code { () async throws(ServiceError) in
                    try await test.installation.createAccount(named: name, password: nil, by: TestInstallation.root)
                } == .badRequest)
        }
    }

    @Test func `an installation whose only container is being deleted opens, and one beside data of dev does not`()
        async throws
    {
        let (stores, container) = (TemporaryStores(), StoreID(container: "iCloud.a", environment: "development"))
        defer { stores.remove() }
        var provider = try stores.open()
        var installation = try await Installation.open(provider)
        try await installation.createContainer(container.container, by: TestInstallation.root)
        await (try provider.open(container)).close()
        try await installation.beginDeletion(ofContainer: container.container, by: TestInstallation.root)
        await installation.close()
        provider.close()
        provider = try stores.open()
        installation = try await Installation.open(provider)
        #expect(try await installation.containersBeingDeleted() == [container.container])
        await installation.close()
        await (try provider.open(StoreID(container: "iCloud.b", environment: "development"))).close()
        await #expect(throws: StorageError.self) { _ = try await Installation.open(provider) }
        provider.close()
    }

    @Test func `roles allow what they name, of their container, and changes need a sign-in of the last minutes`()
        async throws
    {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        let all = test.installation
        try await all.createContainer("iCloud.other", by: TestInstallation.root)
        for (name, role) in [("viewer", InstallationRole.viewer), ("developer", .developer)] {
            _ = try await all.createAccount(named: name, password: TestInstallation.password, by: TestInstallation.root)
            try await all.grant(
                role, toAccountNamed: name, container: TestInstallation.container, by: TestInstallation.root)
        }
        try await all.grant(
            .administrator, toAccountNamed: "ada@example.org", container: nil, by: TestInstallation.root)
        func rights(_ name: String) async throws -> [Bool] {
            let administrator = try await all.administrator(try await test.signIn(name, apiToken: nil).token)
            return [
                AdministrationRight.view(container: TestInstallation.container),
                .change(container: TestInstallation.container), .view(container: "iCloud.other"), .viewInstallation,
                .administer,
            ].map { right in (try? administrator.check(right, at: test.clock.now)) != nil }
        }
        #expect(try await rights("viewer") == [true, false, false, false, false])
        #expect(try await rights("developer") == [true, true, false, false, false])
        #expect(try await rights("ada@example.org") == [true, true, true, true, true])

        let token = try await test.signIn(apiToken: nil, keepsSignedIn: true).token
        test.clock.advance(milliseconds: Administrator.recent + 1)
        let late = try await all.administrator(token)
        try late.check(.viewInstallation, at: test.clock.now)
        #expect(throws: ServiceError.self) { try late.check(.administer, at: test.clock.now) }
        // A role that was taken is gone with the next request.
        try await all.revokeRole(ofAccountNamed: "ada@example.org", container: nil, by: TestInstallation.root)
        let former = try await all.administrator(token)
        #expect(throws: ServiceError.self) { try former.check(.viewInstallation, at: test.clock.now) }
    }

    @Test func `a session of a container is none of the administration, and the other way round`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        try await test.installation.grant(
            .administrator, toAccountNamed: "ada@example.org", container: nil, by: TestInstallation.root)
        let app = try await test.signIn(apiToken: token).token
        let administration = try await test.signIn(apiToken: nil).token
        #expect(
            await code { () async throws(ServiceError) in try await test.installation.administrator(app) }
                == .authenticationRequired)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, administration) }
                == .authenticationRequired)
        #expect(try await test.caller(token, app).isDeveloper)
    }

    @Test func `a deleted account is gone from every store, and its name is free`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let session = try await test.signIn(apiToken: token).token
        let id = try #require(try await test.caller(token, session).account)
        let service = NephosService(stores: test.stores)
        for container in [TestInstallation.container, "iCloud.other"] {
            let context = RequestContext(
                container: container, environment: .development, scope: .private, account: id, requestID: "R")
            _ = try await service.modifyZones(
                ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))]
                ),
                context)
        }
        _ = try await service.deleteAccount(
            named: "ada@example.org", of: test.installation, by: TestInstallation.root)
        for container in [TestInstallation.container, "iCloud.other"] {
            let context = RequestContext(
                container: container, environment: .development, scope: .public, account: nil, requestID: "R")
            #expect(try await service.listAccounts(ListAccountsRequest(), context).accounts.isEmpty)
        }
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, session) }
                == .authenticationRequired)
        let again = try await test.installation.createAccount(
            named: "ada@example.org", password: TestInstallation.password, by: TestInstallation.root)
        #expect(again.id != id)
        await service.close()
    }

    @Test(.overPostgreSQL) func `two servers of one database see each other's changes after the recheck`() async throws
    {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await TestInstallation(stores)
        let token = try await test.prepare()
        let other = try await test.again()
        let session = try await test.signIn(apiToken: token).token
        func callers() async -> [ServerErrorCode?] {
            var codes: [ServerErrorCode?] = []
            for server in [test.installation, other] {
                codes.append(
                    await code { () async throws(ServiceError) in
                        try await server.caller(
                            container: TestInstallation.container, environment: .development, apiToken: token,
                            token: session, origin: nil)
                    })
            }
            return codes
        }
        #expect(await callers() == [nil, nil])
        _ = try await other.endSessions(ofAccountNamed: "ada@example.org", id: nil, by: TestInstallation.root)
        #expect(await callers()[1] == .authenticationRequired)
        // The first server has the session cached until it reads it again.
        test.installation.sessions.expire()
        #expect(await callers() == [.authenticationRequired, .authenticationRequired])
        await other.close()
        await test.installation.close()
        stores.close()
    }

    @Test func `a poll ends when its session ends, and other sessions' polls go on`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        var sessions: [String] = []
        for _ in 0..<2 {
            let text = try await test.signIn(apiToken: token, keepsSignedIn: true).token
            sessions.append(try #require(try await test.caller(token, text).session))
        }
        let (first, second) = (sessions[0], sessions[1])
        let gate = Gate()
        let ended = Task {
            await code { () async throws(ServiceError) in
                try await test.installation.whileLive(first) { _ in await gate.wait() }
            }
        }
        let other = Task {
            await code { () async throws(ServiceError) in
                try await test.installation.whileLive(second) { _ in await gate.wait() }
            }
        }
        await gate.waitForWaiting(2)
        _ = try await test.installation.endSessions(
            ofAccountNamed: "ada@example.org", id: first, by: TestInstallation.root)
        while await gate.waiting == 2 {
            if test.clock.sleeping == 2 { test.clock.advance(milliseconds: Limits.credentialRecheck) }
            await Task.yield()
        }
        #expect(await ended.value == .authenticationRequired)
        #expect(await gate.waiting == 1)
        await gate.open()
        #expect(await other.value == nil)
        #expect(
            await code { () async throws(ServiceError) in
                try await test.installation.whileLive(first) { _ in }
            } == .authenticationRequired)
    }

    @Test func `an account whose deletion has begun has no session on any server, and begins none`() async throws {
        let test = try await TestInstallation()
        let apiToken = try await test.prepare()
        let other = try await test.again()
        let session = try await test.signIn(apiToken: apiToken)
        let ending = try await test.signIn(apiToken: apiToken)
        try await test.installation.beginDeletion(
            ofAccountNamed: "ada@example.org", erasesPublicRecords: false, by: TestInstallation.root)
        #expect(
            await code { () async throws(ServiceError) in try await test.signIn(apiToken: apiToken) } == .accessDenied)
        let commanded = await code { () async throws(ServiceError) in
            try await test.installation.createSession(
                ofAccountNamed: "ada@example.org", container: TestInstallation.container, environment: .development,
                label: "", by: TestInstallation.root)
        }
        #expect(commanded == .accessDenied)
        #expect(try await test.installation.accounts(after: "").accounts.map(\.isBeingDeleted) == [true])
        for token in [session.token, ending.token] {
            let refused = await code { () async throws(ServiceError) in
                try await other.caller(
                    container: TestInstallation.container, environment: .development, apiToken: apiToken, token: token,
                    origin: nil)
            }
            #expect(refused == .authenticationFailed)
        }
        // Repeated, it ends; the name is free afterwards.
        _ = try await test.installation.removeAccount(named: "ada@example.org", by: TestInstallation.root)
        _ = try await test.installation.createAccount(
            named: "ada@example.org", password: TestInstallation.password, by: TestInstallation.root)
        _ = try await test.signIn(apiToken: apiToken)
        await other.close()
        await test.installation.close()
    }

    @Test func `a recovery ends the count of strangers' guesses, as a new password does`() async throws {
        let test = try await TestInstallation(failsForLog: false)
        let apiToken = try await test.prepare()
        for byte in 0..<9 as Range<UInt8> {
            _ = await code { () async throws(ServiceError) in
                try await test.signIn(password: "wrong", apiToken: apiToken, address: [198, 51, 100, byte])
            }
        }
        #expect(await code { () async throws(ServiceError) in try await test.signIn(apiToken: apiToken) } == .throttled)
        let link = try await test.installation.makeRecoveryLink(
            ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        let secret = String(try #require(link.firstMatch(of: /token=([\w-]+)/)).1)
        try await test.installation.recover(byLink: secret, password: "another long secret", address: [])
        _ = try await test.signIn(password: "another long secret", apiToken: apiToken)
        await test.installation.close()
    }
}

/// A wait that ends when the gate opens or the task is cancelled.
private actor Gate {
    private var continuations: [Int: CheckedContinuation<Void, Never>] = [:]
    private var last = 0
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    var waiting: Int { continuations.count }

    func wait() async {
        last += 1
        let number = last
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                continuations[number] = continuation
                for watcher in watchers where continuations.count >= watcher.count { watcher.continuation.resume() }
                watchers.removeAll { continuations.count >= $0.count }
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    func waitForWaiting(_ count: Int) async {
        if continuations.count >= count { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    private func leave(_ number: Int) { continuations.removeValue(forKey: number)?.resume() }

    func open() {
        for continuation in continuations.values { continuation.resume() }
        continuations = [:]
    }
}
