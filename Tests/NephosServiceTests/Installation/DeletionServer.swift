import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Where the servers of a test keep their stores.
struct DeletionPlace: Sendable {
    enum Kind: CaseIterable { case files, postgresql }

    static var kinds: [Kind] { TestCluster.isUsable ? Kind.allCases : [.files] }

    let kind: Kind
    let files = TemporaryStores()
    private let options = TestCluster.options(connections: 4)
    let clock = TestCloud.Clock()

    func open() throws -> any StoreProvider {
        kind == .files
            ? try files.open()
            : try PostgresStores(TestCluster.address.get(), options: options, assets: files.path)
    }

    /// Runs `body` with a server, which ends after it.
    /// - Parameter isIdle: whether the server leaves its background work.
    func serving<T>(isIdle: Bool = false, _ body: (DeletionServer) async throws -> T) async throws -> T {
        let server = try await DeletionServer(self, isIdle: isIdle)
        do {
            let value = try await body(server)
            await server.close()
            return value
        } catch {
            await server.close()
            throw error
        }
    }
}

/// A production server of two containers with equal contents.
struct DeletionServer: Sendable {
    static let containers = ["iCloud.a", "iCloud.a.b"]
    static let environments = [ContainerEnvironment.development, .production]
    static let root = AuditActor(name: "user 0")

    let place: DeletionPlace
    let provider: any StoreProvider
    let installation: Installation
    let cloud: TestCloud
    private let deleting: Task<Void, Never>?
    var service: NephosService { cloud.service }

    init(_ place: DeletionPlace, isIdle: Bool) async throws {
        self.place = place
        provider = try place.open()
        let clock = place.clock
        installation = try await Installation.open(
            provider,
            ServiceEnvironment(
                now: { clock.now }, makeUUID: { clock.makeUUID() }, log: { _ in },
                sleepUntil: { try await clock.sleep(until: $0) }))
        let cloud = TestCloud(ServiceConfiguration(), stores: provider, clock: clock)
        self.cloud = cloud
        deleting = isIdle ? nil : Task { [installation] in await cloud.service.deleteContainers(of: installation) }
    }

    func close() async {
        deleting?.cancel()
        await deleting?.value
        await service.close()
        await installation.close()
        provider.close()
    }

    func delete(_ container: String) async throws(ServiceError) -> [ServiceOverview.Container] {
        try await service.deleteContainer(container, of: installation, by: Self.root)
    }

    /// Waits until nothing is being deleted, with what servers wait for.
    func waitForDeletions() async throws {
        await eventually {
            place.clock.advance(milliseconds: Limits.credentialRecheck)
            return (try? await installation.containersBeingDeleted()) == []
        }
    }

    // MARK: Contents

    /// Fills both environments of both containers, for an account.
    func fill() async throws -> String {
        let account = try await installation.createAccount(named: "ada", password: nil, by: Self.root).id
        for container in Self.containers {
            try await installation.createContainer(container, by: Self.root)
            for environment in Self.environments { try await fill(container, environment, account) }
        }
        return account
    }

    func fill(_ container: String, _ environment: ContainerEnvironment, _ account: String) async throws {
        let own = cloud.context(account, environment: environment, container: container)
        if environment == .production {
            let development = cloud.context(nil, environment: .development, container: container)
            _ = try await service.deploySchema(development)
        }
        _ = try await service.modifyZones(
            ModifyZonesRequest(operations: [
                ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))
            ]), own)
        let names = (0..<30).map { "record-\($0)" }
        try await save(names, ZoneIDDictionary(zoneName: "Z"), own)
        try await save(["shared"], nil, cloud.context(account, .public, environment: environment, container: container))
        let file = try await upload(own)
        let operation = RecordOperation.create("file", ["file": .asset(file)])
        let saved = try await service.modifyRecords(ModifyRecordsRequest(operations: [operation]), own).records
        #expect(saved.map(\.summary) == ["saved"])
        _ = try await service.createToken(TokenRequest(apnsEnvironment: .development), own)
        _ = try await service.modifySubscriptions(
            ModifySubscriptionsRequest(operations: [
                .create(SubscriptionDictionary(subscriptionID: "s", subscriptionType: .database))
            ]), own)
    }

    func save(_ names: [String], _ zone: ZoneIDDictionary?, _ context: RequestContext) async throws {
        let saved = try await service.modifyRecords(
            ModifyRecordsRequest(
                operations: names.map { .create($0, ["title": .string("x"), "parent": .link("record-0")]) },
                zoneID: zone),
            context
        ).records
        #expect(saved.allSatisfy { $0.summary == "saved" }, "\(saved.map(\.summary))")
    }

    private func upload(_ context: RequestContext) async throws -> AssetValue {
        let field = AssetField(recordName: "file", recordType: "Note", fieldName: "file")
        let token = try await service.assetUploads(AssetUploadRequest(tokens: [field]), context).firstToken()
        let upload = try await service.beginUpload(
            token, size: 9, container: context.container, context.environment, requestID: "R")
        try await upload.append([UInt8](repeating: 7, count: 9))
        return try await upload.finish().singleFile
    }

    /// The names of an account's records in the zone, of a container in both environments.
    func records(_ container: String, _ account: String) async throws(ServiceError) -> [Int] {
        var counts: [Int] = []
        for environment in Self.environments {
            let names = (0..<30).map { LookupRecordsRequest.Item(recordName: "record-\($0)") }
            let found = try await service.lookupRecords(
                LookupRecordsRequest(records: names, zoneID: .init(zoneName: "Z")),
                cloud.context(account, environment: environment, container: container))
            counts.append(found.records.count { $0.record != nil })
        }
        return counts
    }
}
