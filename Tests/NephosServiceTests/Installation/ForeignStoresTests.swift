import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Stores of another server beside those of one, as after the restore of a single container.
@Suite struct ForeignStoresTests {
    private static let (ada, bob) = (
        "id:" + String(repeating: "a", count: 32), "id:" + String(repeating: "b", count: 32)
    )
    private let stores = TemporaryStores()

    /// Makes accounts in containers, by saves.
    private func fill(_ accounts: [(container: String, account: String)]) async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        for (container, account) in accounts {
            let saved = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: [.create("a")]), cloud.context(account, container: container))
            #expect(saved.records.allSatisfy { !$0.isFailure })
        }
        await cloud.service.close()
    }

    @Test(arguments: [["iCloud.a", "iCloud.b"], ["iCloud.b", "iCloud.a"]])
    func `a production server's container beside those of nephos dev is refused, in any order`(
        containers: [String]
    ) async throws {
        defer { stores.remove() }
        try await fill([(containers[0], "mei"), (containers[1], Self.ada)])
        let provider = try stores.open()
        defer { provider.close() }
        let error = await #expect(throws: StorageError.self) { try await LostInstallation.check(provider) }
        #expect(error?.message.contains("The data is a production server's") == true)
    }

    /// Stores that know their first accounts, and count how often they are opened.
    private final class KnownStores: StoreProvider {
        let opened = Mutex<[StoreID]>([])
        private let stores: any StoreProvider
        private let names: [StoreID: String]

        init(_ stores: any StoreProvider, _ names: [StoreID: String]) {
            self.stores = stores
            self.names = names
        }

        func open(_ id: StoreID) throws -> any StorageEngine {
            opened.withLock { $0.append(id) }
            return try stores.open(id)
        }
        func assets(of id: StoreID) throws -> any AssetStore { try stores.assets(of: id) }
        func existingStores() throws -> [StoreID] { try stores.existingStores() }
        func firstAccountNames() -> [StoreID: String]? { names }
        func close() { stores.close() }
    }

    @Test(arguments: [true, false])
    func `of stores that know their first accounts only those of an ID are opened`(hasProduction: Bool) async throws {
        defer { stores.remove() }
        let accounts = ["iCloud.a": "mei", "iCloud.b": Self.ada, "iCloud.c": "tom"]
        let filled = accounts.filter { hasProduction || $0.value != Self.ada }
        try await fill(filled.map { ($0.key, $0.value) })
        let ids = filled.map { (StoreID(container: $0.key, environment: "development"), $0.value) }
        let provider = KnownStores(try stores.open(), Dictionary(uniqueKeysWithValues: ids))
        defer { provider.close() }
        if hasProduction {
            await #expect(throws: StorageError.self) { try await LostInstallation.check(provider) }
            #expect(provider.opened.withLock { $0.map(\.container) } == ["iCloud.b"])
        } else {
            try await LostInstallation.check(provider)
            #expect(provider.opened.withLock { $0 } == [])
        }
    }

    @Test func `a dev account whose name has the form of an ID does not lock the others out`() async throws {
        defer { stores.remove() }
        try await fill([("iCloud.a", "mei"), ("iCloud.a", Self.ada)])
        let provider = try stores.open()
        defer { provider.close() }
        try await LostInstallation.check(provider)
    }

    @Test func `a new installation opens beside a production server's container, and not beside one of dev`()
        async throws
    {
        defer { stores.remove() }
        try await fill([("iCloud.a", Self.ada)])
        var provider = try stores.open()
        await (try await Installation.open(provider)).close()
        provider.close()
        try await fill([("iCloud.b", "mei")])
        provider = try stores.open()
        await (try await Installation.open(provider)).close()
        provider.close()
    }

    @Test func `accounts that the installation lacks are found in each container, and deleted by their IDs`()
        async throws
    {
        defer { stores.remove() }
        try await fill(
            [("iCloud.a", Self.ada), ("iCloud.a", Self.bob), ("iCloud.b", Self.bob), ("iCloud.c", Self.ada)])
        let provider = try stores.open()
        let installation = try await Installation.open(provider)
        let root = AuditActor(name: "user 0")
        let known = try await installation.createAccount(named: "eve", password: nil, by: root)
        let cloud = TestCloud(ServiceConfiguration(), stores: provider)
        for container in ["iCloud.b", "iCloud.c"] {
            _ = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: [.create("a")]), cloud.context(known.id, container: container))
        }
        let deleted = try await cloud.service.deleteAccount(named: Self.bob, of: installation, by: root)
        #expect(deleted.id == Self.bob)
        await cloud.service.settle()
        #expect(cloud.log.all.contains("account deleted: \(Self.bob)"))
        await #expect(throws: ServiceError.self) {
            try await cloud.service.deleteAccount(named: Self.bob, of: installation, by: root)
        }
        await cloud.service.close()
        await installation.close()
        let reopened = try stores.open()
        defer { reopened.close() }
        let strays = try await StrayAccounts.find(in: reopened.existingStores()) { try reopened.open($0) }
        #expect(strays.map(\.store.container).sorted() == ["iCloud.a", "iCloud.c"])
        for stray in strays {
            #expect(stray.accounts == [Self.ada] && stray.areAll == (stray.store.container == "iCloud.a"))
            // All of a store's are another installation's rather.
            #expect(stray.text.contains("erases them") != stray.areAll, "\(stray.text)")
        }
    }

    @Test func `an account that a running server makes between two snapshots is no stray`() async throws {
        let earlier = TemporaryStores()
        defer { for stores in [stores, earlier] { stores.remove() } }
        try await fill([("iCloud.a", Self.ada)])
        let (provider, before) = (try stores.open(), try earlier.open())
        defer { for provider in [provider, before] { provider.close() } }
        for stores in [provider, before] { await (try await Installation.open(stores)).close() }
        let engine = try provider.open(.installation)
        try await engine.write(of: [.everyone]) {
            try $0.put(InstallationEntry(kind: .account, name: Self.ada, body: [], expiresAt: 0))
        }
        await engine.close()
        let isFirst = Mutex(true)
        let strays = try await StrayAccounts.find(in: provider.existingStores()) { id in
            let isEarly =
                id.isInstallation
                && isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
            return try (isEarly ? before : provider).open(id)
        }
        #expect(strays.map(\.accounts) == [])
        #expect(isFirst.withLock { !$0 })
    }

    @Test func `the users of server-to-server keys are no strays, and deleted once their key is revoked`() async throws
    {
        defer { stores.remove() }
        let root = AuditActor(name: "user 0")
        func strays() async throws -> [String] {
            let provider = try stores.open()
            defer { provider.close() }
            return try await StrayAccounts.find(in: provider.existingStores()) { try provider.open($0) }
                .flatMap(\.accounts)
        }
        func served<T>(_ body: (Installation, TestCloud) async throws -> T) async throws -> T {
            let provider = try stores.open()
            let installation = try await Installation.open(provider)
            let cloud = TestCloud(ServiceConfiguration(), stores: provider)
            let result = try await body(installation, cloud)
            await cloud.service.settle()
            await cloud.service.close()
            await installation.close()
            provider.close()
            return result
        }
        let key = try await served { installation, cloud in
            try await installation.createContainer("iCloud.a", by: root)
            let key = try await installation.createServerKey(
                container: "iCloud.a", environment: .development, name: "", publicKey: SignedRequestTests.publicKey,
                replacing: nil, by: root)
            _ = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: [.create("a")]), cloud.context(key.user, container: "iCloud.a"))
            let error = await #expect(throws: ServiceError.self) {
                try await cloud.service.deleteAccount(named: key.user, of: installation, by: root)
            }
            #expect(error?.reason.contains(key.keyID) == true)
            return key
        }
        #expect(try await strays() == [])
        try await served { installation, _ in try await installation.revokeServerKey(key.keyID, by: root) }
        #expect(try await strays() == [])
        _ = try await served { installation, cloud in
            try await cloud.service.deleteAccount(named: key.user, of: installation, by: root)
        }
        #expect(try await strays() == [])
    }
}
