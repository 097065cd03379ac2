import CloudKitLocal
import NephosSQLite
import NephosServer
import NephosService
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import CloudKit

/// A running app while its device signs in as another account.
@Suite struct AccountSwitchTests {
    private static let identifier = "iCloud.org.example.App"
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    /// A device whose account can be switched, and other devices of the accounts.
    private struct Setting: Sendable {
        let directory = ServiceDirectory()
        let other: @Sendable (_ account: String) -> CKContainer
        let `switch`: @Sendable (_ account: String?) -> Void

        var container: CKContainer { directory.container(AccountSwitchTests.identifier) }

        /// In process.
        init(_ cloud: LocalCloud, _ account: String) {
            @Sendable func provider(_ account: String?) -> ServiceDirectory.Provider {
                { cloud.container($0, account: account).session.service }
            }
            other = { cloud.container(AccountSwitchTests.identifier, account: $0) }
            let id = directory.add(account: account, provider(account))
            self.switch = { [directory] in directory.switchAccount(of: id, to: $0, provider($0)) }
        }

        /// Over HTTP.
        init(_ url: URL, _ account: String) {
            other = { account in
                let environment = CloudKitEnvironment(url: url, account: .token("dev:\(account)"))
                return CKContainer(
                    identifier: AccountSwitchTests.identifier,
                    service: environment.service(of: AccountSwitchTests.identifier))
            }
            directory.setEnvironment(CloudKitEnvironment(url: url, account: .token("dev:\(account)")))
            self.switch = { [directory] account in
                directory.switchAccount(to: account.map { .token("dev:\($0)") } ?? .none)
            }
        }
    }

    private static func with(_ transport: Transport, _ body: (Setting) async throws -> Void) async throws {
        switch transport {
        case .inProcess:
            let cloud = try LocalCloud()
            try await body(Setting(cloud, "mei"))
            await cloud.close()
        case .http:
            let service = NephosService(stores: MemoryStores())
            let responder = Responder(service)
            let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
            try await body(Setting(url, "mei"))
            service.endPolls()
            await server.stop()
            await service.close()
        }
    }

    private static func prepare(_ container: CKContainer) async throws {
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        try await database.save(CKDatabaseSubscription(subscriptionID: "all"))
    }

    private static func write(_ name: String, by container: CKContainer) async throws {
        try await container.privateCloudDatabase.save(note(name, in: zoneID))
    }

    @Test(.timeLimit(.minutes(15)), arguments: Transport.allCases)
    func `a container and its notification listeners continue as the new account`(
        transport: Transport
    ) async throws {
        try await Self.with(transport) { setting in
            let container = setting.container
            let (mei, tom) = (setting.other("mei"), setting.other("tom"))
            for account in [mei, tom] { try await Self.prepare(account) }
            var iterator = try await container.notifications().makeAsyncIterator()
            func owner() async -> String? { await iterator.next()?.subscriptionOwnerUserRecordID?.recordName }
            try await Self.write("a", by: mei)
            let meiID = try await mei.userRecordID()
            #expect(await owner() == meiID.recordName)
            #expect(try await container.userRecordID() == meiID)

            setting.switch("tom")
            let tomID = try await tom.userRecordID()
            #expect(try await container.userRecordID() == tomID)
            try await container.session.notifications.connect()
            // Of mei's changes this device hears nothing any more.
            try await Self.write("b", by: mei)
            try await Self.write("c", by: tom)
            #expect(await owner() == tomID.recordName)
            let names = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
            #expect(names.modificationResultsByID.keys.map(\.recordName) == ["c"])

            setting.switch(nil)
            #expect(try await container.accountStatus() == .noAccount)
            setting.switch("mei")
            try await container.session.notifications.connect()
            try await Self.write("d", by: mei)
            #expect(await owner() == meiID.recordName)
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: Transport.allCases)
    func `an automatic engine reports the new account and fetches its devices' records`(
        transport: Transport
    ) async throws {
        try await Self.with(transport) { setting in
            let tom = setting.other("tom")
            try await Self.prepare(tom)
            let device = SyncDevice()
            device.start(setting.container.privateCloudDatabase, automatically: true)
            await device.wait { $0.contains("did fetch") }
            device.clearLog()
            setting.switch("tom")
            await device.wait { $0.contains("account switch") && $0.contains("did fetch") }
            // Until the feed knows the new account it could miss what comes now, and the fetch before would have had it.
            try await setting.container.session.notifications.connect()
            try await Self.write("a", by: tom)
            await device.wait { $0.contains("fetched [\"a\"]") }
            #expect(try await tom.privateCloudDatabase.allSubscriptions().count == 2)
        }
    }

    @Test(.timeLimit(.minutes(15))) func `a late answer for the old account is not delivered to the new one`() async {
        let (old, new) = (HeldPoll("old"), HeldPoll("new"))
        let feed = NotificationFeed(old, environment: SyncEngineEnvironment(sleep: { _ in }))
        var iterator = feed.events().makeAsyncIterator()
        await old.untilPolled()
        feed.switchAccount(to: new)
        await new.untilPolled()
        old.answer("1")
        new.answer("2")
        guard case .notification(let notification)? = await iterator.next() else {
            Issue.record("no notification came")
            return
        }
        #expect(notification.notificationID?.uuidString == "2")
        #expect(old.received == [nil] && new.received.first == .some(nil))
    }
}

/// Holds polls until it gets their answer, whether or not they are cancelled meanwhile.
private final class HeldPoll: PartialService {
    private struct State: Sendable {
        var received: [String?] = []
        var waiting: CheckedContinuation<String, Never>?
    }

    private let name: String
    private let state = Mutex(State())

    init(_ name: String) { self.name = name }

    var received: [String?] { state.withLock { $0.received } }

    func answer(_ request: any Sendable, _: String, _: ServiceCall) async throws(ServiceFailure) -> (any Sendable)? {
        request is TokenRequest
            ? TokenResponse(apnsEnvironment: .development, apnsToken: name, webcourierURL: "/" + name) : nil
    }

    func nextNotification(
        _: TokenResponse, received: String?, _: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        let id = await withCheckedContinuation { continuation in
            state.withLock { state in
                state.received.append(received)
                state.waiting = continuation
            }
        }
        return NotificationPayload(
            .database, notificationID: id, containerIdentifier: "c", userRecordName: "_me", subscriptionID: name,
            databaseScope: .private, zoneID: nil)
    }

    /// Returns once a poll is held.
    func untilPolled() async {
        await eventually { state.withLock { $0.waiting != nil } }
    }

    func answer(_ id: String) {
        state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }?.resume(returning: id)
    }
}
