import NephosCrypto
import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// The adoption of stores of `nephos dev`, and what an interruption leaves.
@Suite struct AdoptionTests {
    private static let root = AuditActor(name: "user 0")
    private static let containers = ["iCloud.a", "iCloud.b"]

    /// Stores of which the opening with some number fails, as if the process had ended before it.
    private final class Interrupted: StoreProvider {
        let stores: any StoreProvider
        let openings = Mutex(0)
        let limit: Int
        /// Whether the role owns no table.
        let cannotErase: Bool

        init(stores: any StoreProvider, limit: Int = .max, cannotErase: Bool = false) {
            self.stores = stores
            self.limit = limit
            self.cannotErase = cannotErase
        }

        func checkErasesDeletedRows() throws {
            if cannotErase { throw StorageError(.constraint, "only the owner erases") }
        }

        func open(_ id: StoreID) throws -> any StorageEngine {
            let count = openings.withLock { count in
                count += 1
                return count
            }
            guard count <= limit else { throw StorageError(.inputOutput, "interrupted") }
            return try stores.open(id)
        }
        func assets(of id: StoreID) throws -> any AssetStore { try stores.assets(of: id) }
        func existingStores() throws -> [StoreID] { try stores.existingStores() }
        func eraseDeletedRows() throws { try stores.eraseDeletedRows() }
        var keepsStores: Bool { true }
        func close() {}
    }

    /// Two containers of alice and bob, whose keys the service keeps. alice shares with bob, and invites zoe. Closes the
    /// stores.
    /// - Returns: the names of alice's and bob's user records in each container.
    private func use(_ stores: any StoreProvider) async throws -> [[String]] {
        var configuration = ServiceConfiguration(worksInBackground: false)
        configuration.escrowsKeys = true
        let service = NephosService(stores: stores, environment: .system, configuration: configuration)
        var users: [[String]] = []
        for container in Self.containers {
            func context(_ account: String) -> RequestContext {
                RequestContext(
                    container: container, environment: .development, scope: .private, account: account, requestID: "R")
            }
            let share = """
                {"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{
                 "recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","fields":{},"publicPermission":"NONE",
                 "participants":[
                 {"userIdentity":{"lookupInfo":{"emailAddress":"bob@localhost"}},"permission":"READ_ONLY","type":"USER"},
                 {"userIdentity":{"lookupInfo":{"emailAddress":"zoe@localhost"}},"permission":"READ_ONLY","type":"USER"}
                 ]}}]}
                """
            let zone = ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))
            _ = try await service.modifyZones(ModifyZonesRequest(operations: [zone]), context("alice"))
            _ = try await service.modifyZones(ModifyZonesRequest(operations: [zone]), context("bob"))
            let saved = try await service.modifyRecords(
                ModifyRecordsRequest(decoding: Array(share.utf8)), context("alice"))
            _ = try #require(saved.records[0].record, "\(saved)")
            var names: [String] = []
            for account in ["alice", "bob"] {
                let place = try await service.keyPlace(context(account))
                let secrets = AccountSecrets.random()
                _ = try await service.enroll(
                    EnrollRequest(
                        position: 0, entry: try #require(Self.firstEntry(secrets, in: place)),
                        escrow: secrets.encoded()), context(account))
                names.append(place.owner)
            }
            users.append(names)
        }
        await service.close()
        stores.close()
        return users
    }

    private static func firstEntry(_ secrets: AccountSecrets, in place: KeyPlace) -> [UInt8]? {
        guard let signing = SigningKeyPair(seed: [UInt8](secrets.signingSeed)),
            let box = BoxKeyPair(secretKey: [UInt8](secrets.boxSecretKey)),
            let account = secrets.accountKeys[1].flatMap({ BoxKeyPair(secretKey: [UInt8]($0)) })
        else { return nil }
        return DeviceListEntry(
            number: 0, previous: [], change: .add,
            device: DeviceKeys(signing: signing.publicKey, box: box.publicKey), accountKeyVersion: 1,
            accountKey: account.publicKey, author: signing.publicKey
        ).signed(by: signing, in: place)
    }

    private static let names = ["alice": "alice@example.org", "zoe": "zoe@example.org"]

    private func adopt(_ stores: any StoreProvider, _ keys: [String: String]) async throws {
        let adoption = Adoption(stores)
        try await adoption.run(
            try await adoption.plan(names: Self.names), recoveryKeys: keys, developers: ["alice"], by: Self.root)
    }

    /// Expects all that an adoption leaves of what `use` made.
    private func expectAdopted(_ stores: any StoreProvider, _ users: [[String]], _ key: String) async throws {
        let installation = try await Installation.open(stores)
        #expect(try await installation.accounts(after: "").accounts.map(\.name) == ["alice@example.org", "bob"])
        #expect(try await installation.containers() == Self.containers)
        #expect(try await installation.roleSummaries().map(\.container) == Self.containers)
        let ids = [
            try await installation.accountID(named: "alice@example.org"),
            try await installation.accountID(named: "bob"),
        ]
        let findings = try await InstallationVerification(installation.engine).run()
        #expect(findings.problems == [])
        await installation.close()
        for (container, users) in zip(Self.containers, users) {
            let id = StoreID(container: container, environment: "development")
            let engine = try stores.open(id)
            try await engine.read { reader in
                let accounts = try reader.accounts(after: 0, limit: 9)
                #expect(accounts.map(\.name) == ids && accounts.map(\.userRecordName) == users)
                let zone = try #require(try reader.zone(owner: accounts[0].owner, named: "Z"))
                let share = try #require(try reader.shares(zone: zone.key, limit: 9).first)
                let rows = try reader.participants(share: share.id)
                #expect(Set(rows.map(\.address)) == ["bob", "zoe@example.org"])
                #expect(Set(rows.map(\.account)) == [0, accounts[1].id])
                for account in accounts {
                    try expectRecoverable(account, in: id, CarriedSecret(text: key), reader)
                }
            }
            await engine.close()
        }
    }

    /// Expects that no keys are kept, and that the recovery key alone opens the account's keys.
    private func expectRecoverable(
        _ account: AccountRow, in id: StoreID, _ secret: CarriedSecret?, _ reader: StorageReader
    ) throws {
        let zone = AccountKeys.zone(of: account)
        #expect(try reader.keys(zone: zone, kind: .escrow).isEmpty)
        let place = KeyPlace(container: id.container, environment: id.environment, owner: account.userRecordName)
        // The signatures are verified.
        let list = try #require(DeviceList(try AccountKeys.entries(of: account, reader), in: place))
        let pair = try #require(secret?.box(place))
        #expect(list.devices.isEmpty && list.accountKeyVersion == 2 && list.recoveryKeys.map(\.box) == [pair.publicKey])
        let boxes = try reader.keys(zone: zone, kind: .accountKey).map { try AccountKeyBox(decoding: $0.body) }
        let keys = boxes.compactMap { pair.open($0.box).flatMap(BoxKeyPair.init(secretKey:)) }
        #expect(boxes.map(\.version).sorted() == [1, 2] && keys.contains { $0.publicKey == list.accountKey })
    }

    private func keys(_ key: String) -> [String: String] { ["alice@example.org": key, "bob": key] }

    @Test func `an adoption that is interrupted anywhere is refused by servers, and continues`() async throws {
        let key = Adoption.makeRecoveryKey()
        // The openings: two stores for the plan, the installation, two stores, both once more, the installation.
        for limit in 2...7 {
            let temporary = TemporaryStores()
            defer { temporary.remove() }
            let users = try await use(try temporary.open())
            let stores = try temporary.open()
            await #expect(throws: StorageError(.inputOutput, "interrupted")) {
                try await adopt(Interrupted(stores: stores, limit: limit), keys(key))
            }
            if limit > 2 {
                await #expect(throws: StorageError.self) { try await Installation.open(stores) }
                // Another key than the first run's would open half of the stores.
                if limit < 5 {
                    let other = keys(Adoption.makeRecoveryKey())
                    await #expect(throws: ServiceError.self) { try await adopt(stores, other) }
                }
            }
            try await adopt(stores, keys(key))
            try await expectAdopted(stores, users, key)
            let plan = try await Adoption(stores).plan(names: [:])
            #expect(plan.isDone)
            stores.close()
        }
    }

    @Test func `a directory in which the adoption ended before its first write is refused`() async throws {
        let temporary = TemporaryStores()
        defer { temporary.remove() }
        let users = try await use(try temporary.open())
        let stores = try temporary.open()
        await (try stores.open(.installation)).close()
        let error = try await #require(throws: StorageError.self) { try await Installation.open(stores) }
        #expect(error.code == .otherVersion && error.message.contains("nephos accounts adopt"))
        let key = Adoption.makeRecoveryKey()
        try await adopt(stores, keys(key))
        try await expectAdopted(stores, users, key)
        stores.close()
    }

    @Test func `without its recovery key an account with kept keys is not adopted, and nothing changes`() async throws {
        let temporary = TemporaryStores()
        defer { temporary.remove() }
        _ = try await use(try temporary.open())
        let stores = try temporary.open()
        for keys in [[:], ["bob": Adoption.makeRecoveryKey()], keys("2345-6789")] {
            let error = try await #require(throws: ServiceError.self) { try await adopt(stores, keys) }
            #expect(error.reason.contains("there is no recovery key for 'alice@example.org'"))
        }
        #expect(try !stores.exists(.installation))
        stores.close()
    }

    @Test func `where former keys cannot be erased nothing changes`() async throws {
        let temporary = TemporaryStores()
        defer { temporary.remove() }
        let users = try await use(try temporary.open())
        let stores = try temporary.open()
        let key = Adoption.makeRecoveryKey()
        await #expect(throws: StorageError(.constraint, "only the owner erases")) {
            try await adopt(Interrupted(stores: stores, cannotErase: true), keys(key))
        }
        #expect(try !stores.exists(.installation))
        try await adopt(stores, keys(key))
        try await expectAdopted(stores, users, key)
        stores.close()
    }

    @Test func `an account that is made between the plan and its adoption stops the adoption, which continues later`()
        async throws
    {
        let temporary = TemporaryStores()
        defer { temporary.remove() }
        _ = try await use(try temporary.open())
        let stores = try temporary.open()
        let adoption = Adoption(stores)
        let plan = try await adoption.plan(names: Self.names)
        let late = StoreID(container: "iCloud.a", environment: "production")
        let engine = try stores.open(late)
        _ = try await engine.write { try $0.insertAccount(name: "carol", userRecordName: "_carol") }
        await engine.close()
        let key = Adoption.makeRecoveryKey()
        let error = try await #require(throws: StorageError.self) {
            try await adoption.run(plan, recoveryKeys: keys(key), by: Self.root)
        }
        #expect(error.code == .inUse && error.message.contains("'carol'"))
        await #expect(throws: StorageError.self) { try await Installation.open(stores) }
        try await adopt(stores, keys(key))
        let installation = try await Installation.open(stores)
        #expect(
            try await installation.accounts(after: "").accounts.map(\.name) == ["alice@example.org", "bob", "carol"])
        await installation.close()
        #expect(try await adoption.plan(names: [:]).isDone)
        stores.close()
    }

    @Test(.overPostgreSQL) func `stores in PostgreSQL are adopted too`() async throws {
        let (address, options) = (try TestCluster.address.get(), TestCluster.options(connections: 3))
        let users = try await use(try PostgresStores(address, options: options))
        let stores = try PostgresStores(address, options: options)
        let key = Adoption.makeRecoveryKey()
        await #expect(throws: StorageError(.inputOutput, "interrupted")) {
            try await adopt(Interrupted(stores: stores, limit: 4), keys(key))
        }
        await #expect(throws: StorageError.self) { try await Installation.open(stores) }
        try await adopt(stores, keys(key))
        try await expectAdopted(stores, users, key)
        stores.close()
    }
}
