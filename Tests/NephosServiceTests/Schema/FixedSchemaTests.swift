import NephosWire
import Testing

@testable import NephosService

/// `nephos dev --as-production`: only imports change a schema of development.
@Suite struct FixedSchemaTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note ( title STRING QUERYABLE, count INT64 );
        """

    private func cloud() -> TestCloud {
        var configuration = ServiceConfiguration()
        configuration.extendsSchema = false
        return TestCloud(configuration)
    }

    private func save(
        _ fields: [String: FieldValue], type: String = "Note", _ context: RequestContext, _ cloud: TestCloud
    ) async throws -> RecordResult {
        var record = RecordOperation.create("a", fields, type: type)
        record.operationType = .forceUpdate
        let request = ModifyRecordsRequest(operations: [record], wantsServerRecord: true)
        return try #require(try await cloud.service.modifyRecords(request, context).records.first)
    }

    @Test func `saves are refused as in production, and change no schema`() async throws {
        let cloud = cloud()
        let (one, other) = (cloud.context(container: "iCloud.one"), cloud.context(container: "iCloud.other"))
        _ = try await cloud.service.importSchema(Self.schema, one)
        let before = try await cloud.service.exportSchema(one)
        #expect(try await save(["title": .string("x")], one, cloud).error == nil)
        let newField = try await save(["stars": .int64(1)], one, cloud).error
        #expect(newField?.reason == "Cannot create or modify field 'stars' in record 'Note' in production schema")
        let newType = try await save([:], type: "Memo", one, cloud).error
        #expect(newType?.reason == "Cannot create new type Memo in production schema")
        let elsewhere = try await save(["title": .string("x")], other, cloud).error
        #expect(elsewhere?.reason == "Cannot create new type Note in production schema")
        #expect(try await cloud.service.exportSchema(one) == before)

        // Production refuses them in the same words.
        _ = try await cloud.service.deploySchema(one)
        let production = cloud.context(environment: .production, container: "iCloud.one")
        #expect(try await save(["stars": .int64(1)], production, cloud).error?.reason == newField?.reason)
        #expect(try await save([:], type: "Memo", production, cloud).error?.reason == newType?.reason)
    }

    @Test func `an import adds what saves could not`() async throws {
        let cloud = cloud()
        let context = cloud.context(container: "iCloud.one")
        #expect(try await save(["title": .string("x")], context, cloud).error != nil)
        _ = try await cloud.service.importSchema(Self.schema, context)
        #expect(try await save(["title": .string("x"), "count": .int64(1)], context, cloud).error == nil)
        #expect(try await save(["count": .string("x")], context, cloud).error?.clientErrorCode == 12)
    }

    @Test func `queries need the indexes that the schema declares`() async throws {
        let cloud = cloud()
        let context = cloud.context(container: "iCloud.one")
        _ = try await cloud.service.importSchema(Self.schema, context)
        func query(_ query: Query) async -> String? {
            do throws(ServiceError) {
                _ = try await cloud.service.queryRecords(QueryRecordsRequest(query: query), context)
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(
            await query(Query(recordType: "Note", filterBy: [Filter(.field("title"), .equals, .string("x"))])) == nil)
        #expect(
            await query(Query(recordType: "Note", filterBy: [Filter(.field("count"), .equals, .int64(1))]))?
                .hasPrefix("Field 'count' is not marked queryable") == true)
        #expect(await query(Query(recordType: "Memo"))?.hasPrefix("Did not find record type: Memo") == true)
    }

    @Test(arguments: [false, true])
    func `who does not extend the schema of development saves a share`(isDefined: Bool) async throws {
        let cloud = TestCloud()
        let lists = "DEFINE SCHEMA RECORD TYPE List ( title STRING );"
        let share = isDefined ? " RECORD TYPE \"cloudkit.share\" ( \"cloudkit.title\" STRING );" : ""
        _ = try await cloud.service.importSchema(lists + share, cloud.context("alice"))
        var context = cloud.context("alice")
        context.mayExtendSchema = false
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))]),
            context)
        func save(_ field: String) async throws -> [RecordResult] {
            let body = """
                {"zoneID":{"zoneName":"Z"},"operations":[
                {"operationType":"create","record":{"recordName":"root \(field)","recordType":"List"}},
                {"operationType":"create","record":{"recordName":"share \(field)","recordType":"cloudkit.share",
                "forRecord":{"recordName":"root \(field)"},"fields":{"\(field)":{"value":"Shopping"}}}}]}
                """
            return try await cloud.service.modifyRecords(
                ModifyRecordsRequest(decoding: Array(body.utf8)), context
            ).records
        }
        let saved = try await save("cloudkit.title")
        #expect(saved.allSatisfy { $0.record != nil }, "\(saved)")
        let other = try await save("color")
        #expect(other.last?.record == nil, "\(other)")
        #expect(try await cloud.service.exportSchema(context).contains("color") == false)
    }

    @Test func `a share needs no type in the schema`() async throws {
        let cloud = cloud()
        let lists = "DEFINE SCHEMA RECORD TYPE List ( title STRING );"
        _ = try await cloud.service.importSchema(lists, cloud.context("alice"))
        // Throws unless both the root and the share are saved.
        _ = try await cloud.makeSharedList()
        #expect(try await cloud.service.exportSchema(cloud.context("alice")).contains("cloudkit.share") == false)
    }

    @Test func `production has an app's fields of shares that were deployed, with their types`() async throws {
        let cloud = TestCloud()
        _ = try await cloud.service.importSchema(
            """
            DEFINE SCHEMA RECORD TYPE List ( title STRING );
            RECORD TYPE "cloudkit.share" ( "cloudkit.title" STRING, color STRING, secret ENCRYPTED STRING );
            """, cloud.context("alice"))
        _ = try await cloud.service.deploySchema(cloud.context("alice"))
        let production = cloud.context("alice", environment: .production)
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))]),
            production)
        func reason(_ field: String, _ value: String) async throws -> String? {
            let body = """
                {"zoneID":{"zoneName":"Z"},"operations":[
                {"operationType":"create","record":{"recordName":"root","recordType":"List"}},
                {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
                "forRecord":{"recordName":"root"},"fields":{"\(field)":{"value":\(value)}}}}]}
                """
            let results = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(decoding: Array(body.utf8)), production
            ).records
            return results.last?.error?.reason
        }
        #expect(try await reason("typo", "\"x\"")?.contains("field 'typo' in record 'cloudkit.share'") == true)
        #expect(try await reason("color", "5")?.contains("defined to be: STRING") == true)
        #expect(try await reason("cloudkit.title", "5")?.contains("STRING") == true)
        #expect(try await reason("secret", "\"x\"") != nil)
        #expect(try await reason("color", "\"red\"") == nil)
    }
}
