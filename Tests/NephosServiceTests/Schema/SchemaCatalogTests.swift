import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

struct SchemaCatalogTests {
    private struct RolledBack: Error {}

    @Test func `a schema read in a write that is rolled back is not cached`() async throws {
        let stores = MemoryStores()
        let engine = try stores.open(StoreID(container: "iCloud.test", environment: "development"))
        let schemas = SchemaCatalog()
        await #expect(throws: RolledBack.self) {
            try await engine.write { transaction in
                try SchemaAdditions(recordTypes: ["Note"]).apply(in: transaction)
                #expect(try schemas.schema(asOf: schemas.now, transaction).hasRecordType("Note"))
                throw RolledBack()
            }
        }
        let schema = try await engine.read { try schemas.schema(asOf: schemas.now, $0) }
        #expect(!schema.hasRecordType("Note"))
        await engine.close()
        stores.close()
    }

    @Test func `a save that finds nothing cached leaves its schema cached`() async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: MemoryStores())
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("first")])
        let isCached = try await cloud.withStore { store in
            store.schemas.beginChange()
            store.schemas.endChange()
            _ = try await database.modify([.create("second")])
            return store.schemas.kept(asOf: store.schemas.now) != nil
        }
        #expect(isCached)
    }

    @Test func `a save caches the schema anew after another server changed it`() async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: MemoryStores())
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("first")])
        let isCurrent = try await cloud.withStore { store in
            try await store.engine.write { try $0.advanceCatalog() }
            _ = try await database.modify([.create("second")])
            let moment = store.schemas.now
            return try await store.engine.read { try store.schemas.version(asOf: moment, $0) != nil }
        }
        #expect(isCurrent)
    }

    @Test func `who extends no schema uses a type that another server added`() async throws {
        let cloud = TestCloud(ServiceConfiguration(), stores: MemoryStores())
        _ = try await TestDatabase(cloud).modify([.create("first")])
        var context = cloud.context()
        context.mayExtendSchema = false
        let saved = try await cloud.withStore { store in
            try await store.engine.write { try SchemaAdditions(recordTypes: ["Memo"]).apply(in: $0) }
            return try await cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: [.create("memo", type: "Memo")]), context
            ).records
        }
        #expect(saved[0].record != nil, "\(saved)")
    }
}
