import FoundationEssentials
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite struct SchemaAdministrationTests {
    private let note = "Note (\"___recordID\" REFERENCE QUERYABLE, title STRING QUERYABLE SORTABLE, n NUMBER SORTABLE)"

    // MARK: - Import

    @Test func `a deployment and a reset of a container that does not exist make none`() async throws {
        let cloud = TestCloud()
        let context = cloud.context(nil, container: "iCloud.tset")
        for command in [cloud.service.deploySchema, cloud.service.resetSchema] {
            let error = await #expect(throws: ServiceError.self) { _ = try await command(context) }
            #expect(error?.clientCode == .badContainer)
        }
        #expect(try await cloud.service.stores.known().isEmpty)
    }

    @Test func `an import makes the schema, and an export returns it`() async throws {
        let cloud = QueryCloud()
        let report = try await cloud.importing(schemaText(note))
        #expect(report.errors == [])
        #expect(report.changes == ["record type 'Note' added"])
        let text = try await cloud.export()
        #expect(text.contains("RECORD TYPE Note ("))
        #expect(text.contains("title           STRING QUERYABLE SORTABLE"))
        #expect(text.contains("GRANT READ TO \"_world\""))
        // What was exported is the schema already.
        #expect(try await cloud.importing(text) == SchemaReport())
        #expect(try await cloud.export() == text)
    }

    @Test func `a save obeys the imported types, and adds missing fields`() async throws {
        let cloud = QueryCloud()
        _ = try await cloud.importing(schemaText("Note (n INT64)"))
        let refused = QueryCloud.UnexpectedFailure(
            reason: "invalid attempt to set value type STRING for field 'n' for type 'Note', defined to be: INT64")
        await #expect(throws: refused) { try await cloud.modify([.force("a", ["n": .string("x")])]) }
        try await cloud.modify([.force("a", ["n": .int64(1), "more": .string("x")])])
        let text = try await cloud.export()
        #expect(text.contains("more            STRING QUERYABLE SEARCHABLE SORTABLE"))
        #expect(text.contains("n               INT64,"))
    }

    @Test(arguments: [false, true])
    func `an import that would lose data names the records and changes nothing`(isIndexed: Bool) async throws {
        let cloud = QueryCloud()
        try await cloud.makeZones("Z")
        try await cloud.modify(
            (1...7).map { .force("n\($0)", ["title": .string("t"), "n": .int64(Int64($0))]) }, zone: "Z")
        try await cloud.modify([.force("other", ["n": .int64(1)], type: "Other")])
        if isIndexed { _ = try await cloud.all(Query(recordType: "Note"), zone: "Z") }
        let before = try await cloud.export()

        // The type is gone.
        var report = try await cloud.importing(schemaText("Other (n NUMBER)"))
        #expect(
            report.errors == [
                "record type 'Note' cannot be dropped: 7 records would lose data: 'n1', 'n2', 'n3', 'n4', 'n5' and 2 more"
            ])
        #expect(report.changes == [])
        // A field is gone: its type says where.
        report = try await cloud.importing(schemaText("Note (n NUMBER)", "Other (n NUMBER)"))
        #expect(report.findings.map(\.line) == [2])
        #expect(report.findings.map(\.column) == [13])
        #expect(
            report.errors.first?.hasPrefix("field 'title' of record type 'Note' cannot be dropped: 7 records") == true)
        #expect(try await cloud.export() == before)
        #expect(
            try await cloud.service.validateSchema(schemaText("Other (n NUMBER)"), cloud.schema()).errors.count == 1)

        // Once nothing holds it, it may go.
        try await cloud.modify((1...7).map { .force("n\($0)", ["title": nil]) }, zone: "Z")
        let dry = try await cloud.service.validateSchema(
            schemaText("Note (n NUMBER)", "Other (n NUMBER)"), cloud.schema())
        #expect(dry.errors == [])
        #expect(try await cloud.export() == before, "a validation changes nothing")
        report = try await cloud.importing(schemaText("Note (n NUMBER)", "Other (n NUMBER)"))
        #expect(report.changes == dry.changes)
        #expect(report.changes.contains("field 'title' of record type 'Note' dropped"))
        try await cloud.modify((1...7).map { .delete("n\($0)") }, zone: "Z")
        #expect(try await cloud.importing(schemaText("Other (n NUMBER)")).errors == [])
        // And may come again, as another type.
        try await cloud.modify([.force("n1", ["title": .int64(1)])], zone: "Z")
        #expect(try await cloud.export().contains("title           NUMBER QUERYABLE SORTABLE"))
    }

    @Test func `records of a deleted zone hold nothing`() async throws {
        let cloud = QueryCloud()
        try await cloud.makeZones("Z")
        try await cloud.modify([.force("a", ["title": .string("t")])], zone: "Z")
        #expect(try await cloud.importing(schemaText("Other (n NUMBER)")).errors.count == 1)
        try await cloud.deleteZone("Z")
        #expect(try await cloud.importing(schemaText("Other (n NUMBER)")).errors == [])
    }

    @Test func `records beyond one read are all counted`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify((0..<2100).map { .force("n\($0)", ["n": .int64(Int64($0))]) })
        var report = try await cloud.importing("DEFINE SCHEMA")
        #expect(report.errors.first?.contains("2100 records would lose data") == true)
        _ = try await cloud.all(Query(recordType: "Note"), limit: { 1 }).count
        report = try await cloud.importing("DEFINE SCHEMA")
        #expect(report.errors.first?.contains("2100 records would lose data") == true)
    }

    @Test func `an invalid schema is refused at its error's position`() async throws {
        let cloud = QueryCloud()
        let report = try await cloud.importing("DEFINE SCHEMA\n  RECORD TYPE Note (a STRIN)")
        #expect(report.findings.map(\.line) == [2])
        #expect(report.findings.map(\.column) == [23])
        #expect(report.errors.first?.contains("Was expecting one of: ") == true)
        #expect(report.errors.first?.contains("\"STRING\"") == true)
    }

    @Test func `only development is imported into, validated and reset`() async throws {
        let cloud = QueryCloud()
        let context = cloud.schema(.production)
        let refusal = ServiceError(
            .badRequest, .invalidArguments, "endpoint not applicable in the environment 'production'")
        await #expect(throws: refusal) { try await cloud.service.importSchema("DEFINE SCHEMA", context) }
        await #expect(throws: refusal) { try await cloud.service.validateSchema("DEFINE SCHEMA", context) }
        await #expect(throws: refusal) { try await cloud.service.resetSchema(context) }
        await #expect(throws: refusal) { try await cloud.service.deploySchema(context) }
        await #expect(throws: refusal) { try await cloud.service.previewDeployment(context) }
        #expect(try await cloud.export(.production).contains("RECORD TYPE Users ("))
    }

    // MARK: - Deployment

    @Test func `a deployment adds to production and never drops`() async throws {
        let cloud = QueryCloud()
        _ = try await cloud.importing(schemaText(note))
        let preview = try await cloud.service.previewDeployment(cloud.schema())
        #expect(try await !cloud.export(.production).contains("RECORD TYPE Note ("))
        let report = try await cloud.service.deploySchema(cloud.schema())
        #expect(report.changes == ["record type 'Note' added"])
        #expect(preview == report)
        #expect(try await cloud.service.previewDeployment(cloud.schema()).changes == [])
        #expect(try await cloud.export(.production) == cloud.export())
        // Development may not drop it any more.
        var refused = try await cloud.importing(schemaText("Note (title STRING)"))
        #expect(
            refused.errors == ["field 'n' of record type 'Note' is in the schema of production and cannot be removed"])
        refused = try await cloud.importing("DEFINE SCHEMA")
        #expect(refused.errors == ["record type 'Note' is in the schema of production and cannot be removed"])
        // Options that development lost stay in production.
        _ = try await cloud.importing(schemaText("Note (title STRING, n NUMBER, new STRING QUERYABLE)"))
        let second = try await cloud.service.deploySchema(cloud.schema())
        #expect(second.changes == ["field 'new' of record type 'Note' added: STRING QUERYABLE"])
        #expect(try await cloud.export(.production).contains("title           STRING QUERYABLE SORTABLE"))
        #expect(try await cloud.service.deploySchema(cloud.schema()).changes == [])
    }

    @Test func `a deployment makes the changes that were shown, or none`() async throws {
        let cloud = QueryCloud()
        _ = try await cloud.importing(schemaText(note))
        let shown = DeploySchemaRequest(changes: try await cloud.service.previewDeployment(cloud.schema()).changes)
        _ = try await cloud.importing(schemaText(note, "Later (t STRING)"))
        let refused = try await cloud.service.deploySchema(shown, cloud.schema())
        #expect(refused.errors.count == 1 && refused.errors[0].contains("look at them again"))
        #expect(refused.changes == [] && !refused.isAllowed)
        #expect(try await !cloud.export(.production).contains("RECORD TYPE Note ("))
        let newer = DeploySchemaRequest(changes: try await cloud.service.previewDeployment(cloud.schema()).changes)
        let report = try await cloud.service.deploySchema(newer, cloud.schema())
        #expect(report.changes == ["record type 'Later' added", "record type 'Note' added"])
        // Another administrator deployed them meanwhile.
        #expect(try await !cloud.service.deploySchema(newer, cloud.schema()).isAllowed)
    }

    @Test func `production gets only what is deployed`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores, environment: .production)
        let create = { (fields: [String: FieldValue], type: String) -> String? in
            do {
                try await cloud.modify([.create(nil, fields, type: type)])
                return nil
            } catch let error as QueryCloud.UnexpectedFailure {
                return error.reason
            }
        }
        #expect(try await create(["title": .string("x")], "Note") == "Cannot create new type Note in production schema")
        _ = try await cloud.importing(schemaText(note))
        _ = try await cloud.service.deploySchema(cloud.schema())
        #expect(try await create(["title": .string("x"), "n": .int64(1)], "Note") == nil)
        #expect(
            try await create(["more": .string("x")], "Note")
                == "Cannot create or modify field 'more' in record 'Note' in production schema")
        #expect(
            try await create(["n": .string("x")], "Note")
                == "invalid attempt to set value type STRING for field 'n' for type 'Note', defined to be: NUMBER")
        #expect(try await cloud.all(Query(recordType: "Note")).count == 1)
    }

    @Test func `in production only the declared indexes exist`() async throws {
        let cloud = QueryCloud(environment: .production)
        _ = try await cloud.importing(schemaText("Note (title STRING, n NUMBER SORTABLE, body STRING QUERYABLE)"))
        _ = try await cloud.service.deploySchema(cloud.schema())
        func refusal(_ query: Query) async -> String? { await cloud.refusal(query)?.reason }
        let byTitle = [Filter(.field("title"), .equals, .string("x"))]
        #expect(
            await refusal(Query(recordType: "Note", filterBy: byTitle))
                == "Field 'title' is not marked queryable: add QUERYABLE to the field 'title' of 'Note' in the schema")
        for all in [nil, QueryExpression.all, .and([]), .not(.none), .or([.all, .none])] {
            var query = Query(recordType: "Note")
            query.extendedFilter = all
            #expect(
                await refusal(query)
                    == "Field 'recordName' is not marked queryable: add QUERYABLE to \"___recordID\" of 'Note' in the schema"
            )
        }
        #expect(
            await refusal(
                Query(
                    recordType: "Note", filterBy: [Filter(.field("n"), .greaterThan, .int64(1))],
                    sortBy: [QuerySortDescriptor(.field("title"))]))
                == "Field 'title' is not marked sortable: add SORTABLE to the field 'title' of 'Note' in the schema")
        let search = [Filter(.field("body"), .containsAllTokens, .string("x"))]
        #expect(
            await refusal(Query(recordType: "Note", filterBy: search))
                == "Field 'body' is not marked searchable: add SEARCHABLE to the field 'body' of 'Note' in the schema")
        #expect(
            await refusal(
                Query(
                    recordType: "Note", filterBy: [Filter(.field("body"), .equals, .string("x"))],
                    sortBy: [QuerySortDescriptor(.field("n"))])) == nil)
    }

    // MARK: - Reset

    @Test func `a reset erases development and restores production's schema`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        _ = try await cloud.importing(schemaText(note))
        let engine = stores.engine
        _ = try await cloud.service.deploySchema(cloud.schema())
        try await cloud.makeZones("Z")
        try await cloud.modify([.force("a", ["title": .string("t")])], zone: "Z")
        try await cloud.modify([.force("b", ["extra": .string("t")]), .force("c", type: "Other")])
        _ = try await cloud.all(Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("extra"))]))
        let user = try await cloud.service.currentUser(cloud.context).userRecordName
        let token = try await cloud.service.databaseChanges(DatabaseChangesRequest(), cloud.context).syncToken

        let report = try await cloud.service.resetSchema(cloud.schema())
        #expect(report.changes.contains("record type 'Other' dropped"))
        #expect(report.changes.contains("field 'extra' of record type 'Note' dropped"))
        #expect(try await cloud.export() == cloud.export(.production))
        #expect(try await cloud.all(Query(recordType: "Note")) == [])
        #expect(await cloud.refusal(Query(recordType: "Other"))?.reason == "Did not find record type: Other")
        #expect(await cloud.refusal(Query(recordType: "Note"), zone: "Z")?.code == .zoneNotFound)
        // The account is still itself, with an empty user record in both databases.
        #expect(try await cloud.service.currentUser(cloud.context).userRecordName == user)
        for scope in [DatabaseScope.private, .public] {
            var context = cloud.context
            context.scope = scope
            let found = try await cloud.service.lookupRecords(
                LookupRecordsRequest(records: [.init(recordName: user)]), context)
            #expect(found.records.first?.record?.recordType == "Users")
        }
        // Devices learn that the zone is gone.
        let changes = try await cloud.service.databaseChanges(DatabaseChangesRequest(syncToken: token), cloud.context)
        #expect(changes.zones.map(\.zoneID.zoneName) == ["Z"])
        #expect(changes.zones.map(\.deleted) == [true])
        try await cloud.modify([.force("a", ["title": .string("new")])])
        #expect(try await cloud.all(Query(recordType: "Note")) == ["a"])

        // Nothing of the old is left behind once the background is through.
        await cloud.service.settle()
        let rest = try await engine.read { reader in
            try reader.zones(after: 0, limit: .max).flatMap { try reader.records(zone: $0.key, after: 0, limit: .max) }
        }
        #expect(Set(rest.map(\.name)) == ["a", user])
        #expect(try await cloud.indexes.allSatisfy { $0.state == .ready && !$0.fields.contains("extra SORTABLE") })
    }

    @Test func `a reset without a production schema leaves only the users`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify([.force("a", ["title": .string("t")])])
        _ = try await cloud.service.resetSchema(cloud.schema())
        let text = try await cloud.export()
        #expect(text.contains("RECORD TYPE Users (") && !text.contains("Note"))
        try await cloud.modify([.force("a", ["title": .int64(1)])])
    }
}
