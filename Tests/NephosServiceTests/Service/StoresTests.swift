import Dispatch
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// The creation, opening and closing of stores.
struct StoresTests {
    private let directory = TemporaryStores()

    private func cloud(openStores: Int = Limits.openStores) throws -> (TestCloud, DataDirectory) {
        let stores = try directory.open()
        var configuration = ServiceConfiguration()
        configuration.openStores = openStores
        return (TestCloud(configuration, stores: stores), stores)
    }

    private func save(_ name: String, _ cloud: TestCloud, _ container: String) async throws {
        _ = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [.create(name)], wantsServerRecord: true),
            cloud.context(container: container))
    }

    private func exists(_ name: String, _ cloud: TestCloud, _ container: String) async throws -> Bool {
        let request = LookupRecordsRequest(records: [.init(recordName: name)])
        return try await cloud.service.lookupRecords(request, cloud.context(container: container)).records[0].record
            != nil
    }

    @Test func `a container's first write is logged by name, with a warning if the name is not Apple-style`()
        async throws
    {
        defer { directory.remove() }
        var lines: [[String]] = []
        for _ in 0..<2 {
            let (cloud, _) = try cloud()
            for container in ["iCloud.org.example.App", "org.example.App"] {
                _ = try await exists("a", cloud, container)
                try await save("a", cloud, container)
            }
            await cloud.service.close()
            lines.append(cloud.log.all)
        }
        let made = "development, was made by its first write"
        #expect(
            lines == [
                [
                    "container 'iCloud.org.example.App', \(made)",
                    "preflight: record type 'Note' added in 'iCloud.org.example.App'",
                    "warning: container 'org.example.App', \(made); the names of Apple's begin with \"iCloud.\"",
                    "preflight: record type 'Note' added in 'org.example.App'",
                ], [],
            ])
    }

    /// What an account reads of a container, in each way, with the tokens that it got before.
    /// - Returns: its user record's name and the token of the database.
    private func read(
        _ account: String, _ cloud: TestCloud, _ container: String, token: String? = nil
    ) async throws -> (user: String, token: String?, zones: [String]) {
        let service = cloud.service
        let context = cloud.context(account, container: container)
        let user = try await service.currentUser(context).userRecordName
        let open = cloud.context(account, .public, container: container)
        let names = ["a", user].map { LookupRecordsRequest.Item(recordName: $0) }
        for context in [context, open] {
            let found = try await service.lookupRecords(LookupRecordsRequest(records: names), context).records
            #expect(found.last?.record?.recordName == user)
        }
        let query = QueryRecordsRequest(query: Query(recordType: "Note"))
        let refusal = await #expect(throws: ServiceError.self) { _ = try await service.queryRecords(query, open) }
        #expect(refusal?.clientCode == .unknownItem)
        #expect(try await service.listSubscriptions(context).subscriptions.isEmpty)
        #expect(try await service.discoverUsers(UserLookupRequest(lookupInfos: []), open).users.isEmpty)
        let zones = try await service.listZones(context).zones
        #expect(
            zones.contains { if case .zone(let zone) = $0 { zone.zoneID.ownerRecordName == user } else { false } })
        let changes = try await service.databaseChanges(DatabaseChangesRequest(syncToken: token), context)
        return (user, changes.syncToken, changes.zones.map(\.zoneID.zoneName))
    }

    @Test func `an unwritten container reads as empty, and is not created`() async throws {
        defer { directory.remove() }
        let (cloud, stores) = try cloud()
        for number in 0..<(2 * Limits.drafts) {
            let (first, second) = (
                try await read("mei", cloud, "iCloud.\(number)"), try await read("ada", cloud, "iCloud.\(number)")
            )
            #expect(first.user != second.user && first.zones == [] && second.zones == [])
            let zone = RecordZoneChangesRequest(zones: [.init(zoneID: ZoneIDDictionary(zoneName: "Z"))])
            let changes = try await cloud.service.recordZoneChanges(
                zone, cloud.context("mei", container: "iCloud.\(number)"))
            guard case .failure(let error) = changes.zones[0] else { throw StorageError(.other, "the zone is there") }
            #expect(error.serverErrorCode == .zoneNotFound)
        }
        #expect(try stores.existingStores() == [])
        #expect(cloud.service.openStores.isEmpty && cloud.log.all == [])
        #expect(await cloud.service.stores.draftCount == Limits.drafts)
        await cloud.service.close()
    }

    @Test func `an account that read a container before its first write keeps its name and its token`() async throws {
        defer { directory.remove() }
        let (cloud, stores) = try cloud()
        let container = "iCloud.new"
        let before = [try await read("ada", cloud, container), try await read("mei", cloud, container)]
        #expect(before[0].zones == [])
        let context = cloud.context("mei", container: container)
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))]),
            context)
        #expect(try stores.existingStores().map(\.container) == [container])
        let mei = try await read("mei", cloud, container, token: before[1].token)
        #expect(mei.user == before[1].user && mei.zones == ["Z"])
        let ada = try await read("ada", cloud, container, token: before[0].token)
        #expect(ada.user == before[0].user && ada.zones == [])
        #expect(try await read("zoe", cloud, container).user != mei.user)
        await cloud.service.close()
    }

    @Test func `a reader of an unwritten container keeps its name after a restart`() async throws {
        defer { directory.remove() }
        var users: Set<String> = []
        for _ in 0..<2 {
            let (cloud, _) = try cloud()
            users.insert(try await read("mei", cloud, "iCloud.a").user)
            await cloud.service.close()
        }
        #expect(users.count == 1)
        let (cloud, _) = try cloud()
        for (account, container) in [("ada", "iCloud.a"), ("mei", "iCloud.b")] {
            #expect(users.insert(try await read(account, cloud, container).user).inserted)
        }
        await cloud.service.close()
    }

    @Test func `concurrent first reads and writes of a container agree on its accounts`() async throws {
        defer { directory.remove() }
        let (cloud, stores) = try cloud()
        for container in (0..<10).map({ "iCloud.\($0)" }) {
            let users = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let context = cloud.context("mei", container: container)
                        guard number % 4 == 3 else {
                            return try await cloud.service.currentUser(context).userRecordName
                        }
                        _ = try await cloud.service.modifyRecords(
                            ModifyRecordsRequest(operations: [.create("r\(number)")]), context)
                        let request = LookupRecordsRequest(records: [.init(recordName: "r\(number)")])
                        let found = try await cloud.service.lookupRecords(request, context).records
                        return try #require(found[0].record?.created?.userRecordName)
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(users.count == 1)
        }
        #expect(try stores.existingStores().count == 10)
        await cloud.service.close()
    }

    @Test func `a store that failed to open at the start is opened later, and its jobs resume`() async throws {
        defer { directory.remove() }
        let before = TestCloud(ServiceConfiguration(worksInBackground: false), stores: try directory.open())
        let database = TestDatabase(before)
        _ = try await database.modify([.create("root"), .create("leaf", ["owner": .owner("root")])])
        try await before.leaveCascade(from: "root")
        await before.service.close()
        let stores = ReluctantStores(stores: try directory.open())
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        await cloud.service.resume()
        await cloud.service.stores.takeUpWork()
        #expect(cloud.service.openStores.isEmpty)
        #expect(cloud.log.all.count == 1, "it is said once: \(cloud.log.all)")
        stores.isReluctant.withLock { $0 = false }
        await cloud.service.stores.takeUpWork()
        await cloud.service.settle()
        #expect(try await TestDatabase(cloud).existing("root", "leaf") == ["root"])
        await cloud.service.close()
    }

    @Test func `reading an unmade container without an account makes no store`() async throws {
        defer { directory.remove() }
        let (cloud, stores) = try cloud()
        for container in ["iCloud.never", "iCloud.mentioned", "iCloud.before"] {
            let context = cloud.context(nil, .public, container: container)
            let request = LookupRecordsRequest(records: [.init(recordName: "a")])
            let results = try await cloud.service.lookupRecords(request, context).records
            #expect(results.map(\.summary) == ["error 11"])
            #expect(try await cloud.service.listZones(context).zones.count == 1)
            await #expect(throws: ServiceError.self) {
                _ = try await cloud.service.modifyRecords(ModifyRecordsRequest(operations: [.create("a")]), context)
            }
        }
        #expect(try stores.existingStores() == [])
        #expect(cloud.service.openStores.isEmpty)
        // Who has an account makes it, and then everybody reads it.
        try await save("a", cloud, "iCloud.never")
        #expect(try stores.existingStores().map(\.container) == ["iCloud.never"])
        await cloud.service.close()
    }

    @Test(arguments: [false, true])
    func `a bounded number of threads looks up and opens any number of containers`(opens: Bool) async throws {
        let stores = SlowStores(holds: opens ? .open : .exists)
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        async let asked: Void = withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let context = cloud.context(opens ? "me" : nil, .public, container: "iCloud.\(number)")
                    _ = try? await cloud.service.currentUser(context)
                    _ = try? await cloud.service.listZones(context)
                }
            }
        }
        await eventually { stores.inside >= Limits.openingThreads }
        stores.letGo()
        await asked
        #expect(stores.most == Limits.openingThreads)
        await cloud.service.close()
    }

    @Test func `with many open stores idle ones are closed sooner`() async throws {
        defer { directory.remove() }
        let (cloud, _) = try cloud()
        for number in 0..<Limits.crowdedStores { try await save("a", cloud, "iCloud.\(number)") }
        await cloud.service.settle()
        #expect(cloud.service.openStores.count == Limits.crowdedStores)
        cloud.advance(milliseconds: Limits.crowdedStoreIdleTime)
        try await save("a", cloud, "iCloud.more")
        #expect(cloud.service.openStores.map(\.id.container) == ["iCloud.more"])
        #expect(try await exists("a", cloud, "iCloud.0"))
        await cloud.service.close()
    }

    @Test func `an idle store is closed, and reopened when it is used again`() async throws {
        defer { directory.remove() }
        let (cloud, _) = try cloud()
        try await save("a", cloud, "iCloud.test")
        await cloud.service.settle()
        #expect(cloud.service.openStores.count == 1)
        await eventually {
            cloud.advance(milliseconds: Limits.storeIdleTime)
            return cloud.service.openStores.isEmpty
        }
        #expect(try await exists("a", cloud, "iCloud.test"))
        #expect(cloud.service.openStores.count == 1)
        await cloud.service.close()
    }

    @Test func `a store is not closed if an upload begins during the check for idleness`() async throws {
        let stores = FullStores(keepsStores: true)
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        try await save("a", cloud, "iCloud.test")
        let answer = try await cloud.service.assetUploads(
            AssetUploadRequest(tokens: [AssetField(recordName: "a", recordType: "Note", fieldName: "file")]),
            TestDatabase(cloud).context)
        let token = try answer.firstToken()
        await cloud.service.settle()
        stores.isReadHanging.store(true, ordering: .relaxed)
        cloud.advance(milliseconds: Limits.storeIdleTime)
        await eventually { stores.hangingCount == 1 }
        stores.isReadHanging.store(false, ordering: .relaxed)
        let upload = try await cloud.service.beginUpload(
            token, size: 1, container: "iCloud.test", .development, requestID: "R")
        stores.goOn()
        for _ in 0..<1000 { await Task.yield() }
        try await upload.append([7])
        _ = try await upload.finish()
        await cloud.service.close()
    }

    @Test func `a share in a closed store is found from another container, and by its page`() async throws {
        defer { directory.remove() }
        let (cloud, _) = try cloud()
        func context(_ container: String, _ account: String, _ scope: DatabaseScope = .public) -> RequestContext {
            RequestContext(
                container: container, environment: .development, scope: scope, account: account, requestID: "r")
        }
        let owner = context("iCloud.shared", "alice", .private)
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))]),
            owner)
        let share = RecordToModify(
            recordName: "cloudkit.zoneshare", recordType: "cloudkit.share",
            share: ShareToModify(publicPermission: .readOnly))
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(
                operations: [RecordOperation(operationType: .create, record: share)],
                zoneID: ZoneIDDictionary(zoneName: "Z")), owner)
        guard case .record(let record)? = saved.records.first, let guid = record.shareDetails?.shortGUID else {
            Issue.record("\(saved)")
            return
        }
        await cloud.service.settle()
        await eventually {
            cloud.advance(milliseconds: Limits.storeIdleTime)
            return cloud.service.openStores.isEmpty
        }
        let request = ShortGUIDsRequest(shortGUIDs: [.init(value: guid)])
        let found = try await cloud.service.resolveShares(request, context("iCloud.other", "bob"))
        guard case .info(let info)? = found.results.first else {
            Issue.record("\(found)")
            return
        }
        #expect(info.containerIdentifier == "iCloud.shared")
        #expect(try await cloud.service.sharePage(guid, account: "bob", requestID: "r") != nil)
        let unknown = String(guid.dropLast()) + (guid.last == "0" ? "1" : "0")
        #expect(try await cloud.service.sharePage(unknown, account: "bob", requestID: "r") == nil)
        await cloud.service.close()
    }

    @Test func `a store with pending jobs stays open, and so does one in memory`() async throws {
        defer { directory.remove() }
        let (cloud, _) = try cloud(openStores: 1)
        try await save("a", cloud, "iCloud.busy")
        await cloud.service.settle()
        let engine = try #require(cloud.service.openStores.first).engine
        try await engine.write { transaction in
            let zone = ZoneKey(owner: .everyone, id: 1)
            // It fails, and is to be tried again.
            try transaction.insert(JobRow(kind: BackgroundJob.purgeZone.rawValue, zone: zone, subject: ""))
        }
        let error = await #expect(throws: ServiceError.self) { try await save("b", cloud, "iCloud.other") }
        #expect(error?.code == .tryAgainLater)
        #expect(try await exists("a", cloud, "iCloud.busy"))
        await cloud.service.close()

        var configuration = ServiceConfiguration()
        configuration.openStores = 1
        let memory = TestCloud(configuration, stores: MemoryStores())
        try await save("a", memory, "iCloud.first")
        for number in 1..<Limits.memoryStoresFactor { try await save("a", memory, "iCloud.\(number)") }
        await memory.service.settle()
        await #expect(throws: ServiceError.self) { try await save("b", memory, "iCloud.last") }
        memory.advance(milliseconds: 2 * Limits.storeIdleTime)
        #expect(try await exists("a", memory, "iCloud.first"))
        await memory.service.close()
    }

    @Test func `at the limit of open stores the least recently used one is closed`() async throws {
        defer { directory.remove() }
        let (cloud, stores) = try cloud(openStores: 2)
        let containers = (0..<5).map { "iCloud.c\($0)" }
        for container in containers {
            try await save("a", cloud, container)
            await cloud.service.settle()
            cloud.advance(milliseconds: 1)
            #expect(cloud.service.openStores.count <= 2)
        }
        #expect(try stores.existingStores().map(\.container) == containers)
        for container in containers {
            #expect(try await exists("a", cloud, container))
            #expect(cloud.service.openStores.count <= 2)
        }
        await cloud.service.close()
    }

    @Test func `concurrent use of more stores than may be open is answered`() async throws {
        defer { directory.remove() }
        let (cloud, _) = try cloud(openStores: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    // A refusal says that it is to be tried again.
                    while true {
                        do {
                            return try await save("r\(index)", cloud, "iCloud.c\(index % 5)")
                        } catch let error as ServiceError where error.code == .tryAgainLater {
                            await Task.yield()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for index in 0..<40 { #expect(try await exists("r\(index)", cloud, "iCloud.c\(index % 5)")) }
        await cloud.service.close()
    }
}

/// Stores that cannot be opened for a while.
private final class ReluctantStores: StoreProvider {
    let isReluctant = Mutex(true)
    private let stores: any StoreProvider

    init(stores: any StoreProvider) { self.stores = stores }

    func open(_ id: StoreID) throws -> any StorageEngine {
        if isReluctant.withLock({ $0 }) { throw StorageError(.inputOutput, "not now") }
        return try stores.open(id)
    }

    func assets(of id: StoreID) throws -> any AssetStore { try stores.assets(of: id) }
    func existingStores() throws -> [StoreID] { try stores.existingStores() }
    var keepsStores: Bool { true }
    func close() { stores.close() }
}

/// Stores that are looked for, or opened, only once they may be.
private final class SlowStores: StoreProvider {
    enum Step {
        case exists, open
    }

    private struct State {
        var inside = 0
        var most = 0
        var isFree = false
    }

    private let stores: any StoreProvider = MemoryStores()
    private let holds: Step
    private let state = Mutex(State())
    private let free = DispatchSemaphore(value: 0)

    init(holds: Step) { self.holds = holds }

    var inside: Int { state.withLock { $0.inside } }
    var most: Int { state.withLock { $0.most } }

    func letGo() {
        state.withLock { $0.isFree = true }
        free.signal()
    }

    private func pass(_ step: Step) {
        guard step == holds else { return }
        let waits = state.withLock { state in
            state.inside += 1
            state.most = max(state.most, state.inside)
            return !state.isFree
        }
        if waits {
            free.wait()
            free.signal()
        }
        state.withLock { $0.inside -= 1 }
    }

    func open(_ id: StoreID) throws -> any StorageEngine {
        pass(.open)
        return try stores.open(id)
    }

    func exists(_ id: StoreID) throws -> Bool {
        pass(.exists)
        return try stores.exists(id)
    }

    func assets(of id: StoreID) throws -> any AssetStore { try stores.assets(of: id) }
    func existingStores() throws -> [StoreID] { try stores.existingStores() }
    func close() { stores.close() }
}
