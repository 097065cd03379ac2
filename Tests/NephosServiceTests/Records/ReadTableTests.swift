import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

/// Every request of the service, with every grant: none returns an unreadable record.
@Suite struct ReadTableTests {
    /// Grants, and who may read a record of mei's under them.
    static let grants: [(grants: String, readers: Set<String>)] = [
        ("", ["mei", "tom", "cora", "nobody"]),
        ("GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\"", ["mei", "tom", "cora", "nobody"]),
        ("GRANT READ, CREATE TO \"_icloud\"", ["mei", "tom", "cora"]),
        ("GRANT READ, CREATE TO \"_icloud\", GRANT WRITE TO \"_creator\"", ["mei", "tom", "cora"]),
        ("GRANT CREATE TO \"_icloud\", GRANT READ TO \"_creator\"", ["mei"]),
        ("GRANT CREATE TO \"_icloud\", GRANT WRITE TO \"_creator\"", ["mei"]),
        ("GRANT CREATE TO \"_icloud\", GRANT READ TO Curator", ["cora"]),
        ("GRANT CREATE TO \"_icloud\", GRANT WRITE TO Curator", ["cora"]),
        ("GRANT CREATE TO \"_icloud\", GRANT READ TO Curator, GRANT READ, WRITE TO \"_creator\"", ["mei", "cora"]),
        ("GRANT CREATE TO \"_icloud\"", []),
    ]
    static let readers = ["mei", "tom", "cora", "nobody"]
    /// The texts that no account without read permission may see.
    static let secret = "s3cret"

    private let cloud = TestCloud.impatient()

    private func database(_ name: String) -> TestDatabase {
        TestDatabase(cloud, name == "nobody" ? nil : name, .public)
    }

    private func setGrants(_ grants: String) async throws {
        let text = """
            DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE,
            "___createdBy" REFERENCE QUERYABLE, t STRING QUERYABLE SORTABLE SEARCHABLE, n INT64 QUERYABLE SORTABLE,
            p REFERENCE QUERYABLE\(grants.isEmpty ? "" : ", " + grants));
            """
        #expect(try await cloud.service.importSchema(text, cloud.context(nil, .public)).findings == [])
        _ = try await cloud.service.currentUser(database("cora").context)
        _ = try await cloud.service.assignRole(.init(account: "cora", role: "Curator"), cloud.context(nil, .public))
    }

    /// mei's records: `a` has the secret, and what the others have besides.
    private func saveRecords() async throws {
        try await setGrants("")
        let fields: [String: FieldValue] = ["t": .string(Self.secret), "n": .int64(7)]
        let saved = try await database("mei").modify(
            [.create("a", fields)] + (0..<5).map { .create("b\($0)", ["t": .string("x\($0)"), "n": .int64(1)]) })
        #expect(saved.allSatisfy { $0.record != nil })
    }

    private func query(
        _ filters: [Filter] = [], sort: [QuerySortDescriptor] = [], count: Bool = false, explain: Bool = false,
        limit: Int? = nil
    ) -> QueryRecordsRequest {
        QueryRecordsRequest(
            query: Query(recordType: "Note", filterBy: filters, sortBy: sort), resultsLimit: limit, wantsCount: count,
            wantsExplanation: explain)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func text(_ records: [RecordResult]) -> String { text(RecordsResponse(records: records).encoded()) }

    private func said(_ database: TestDatabase, _ request: QueryRecordsRequest) async -> String {
        do throws(ServiceError) {
            return text(try await cloud.service.queryRecords(request, database.context).encoded())
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: grants.indices)
    func `records are returned only to accounts that may read them, by every request`(index: Int) async throws {
        try await saveRecords()
        let (grants, readers) = Self.grants[index]
        try await setGrants(grants)
        let hasSecret = Filter(.field("t"), .equals, .string(Self.secret))
        for reader in Self.readers {
            let mayRead = readers.contains(reader)
            let database = database(reader)
            let lookup = try await database.lookup("a")
            #expect(text(lookup).contains(Self.secret) == mayRead, "\(reader) looks up, \(grants)")
            for request in [
                query(), query(sort: [.init(.field("t"))]), query([Filter(.field("n"), .equals, .int64(7))]),
            ] {
                #expect(await said(database, request).contains(Self.secret) == mayRead, "\(reader) queries, \(grants)")
            }
            // Nothing tells whether such a record is there: neither numbers nor markers.
            for explain in [false, true] {
                for count in [false, true] {
                    let other = Filter(.field("t"), .equals, .string("s3creu"))
                    let one = await said(database, query([hasSecret], count: count, explain: explain, limit: 1))
                    let none = await said(database, query([other], count: count, explain: explain, limit: 1))
                        .replacing("s3creu", with: Self.secret)
                    #expect((one != none) == mayRead, "\(reader) asks, \(grants): \(one), \(none)")
                }
            }
            let page = await said(database, query(sort: [.init(.field("t"))], limit: 1))
            #expect(mayRead || !page.contains(Self.secret))
        }
    }

    @Test(arguments: grants.indices)
    func `a conflict and a refusal reveal nothing of an unreadable record`(index: Int) async throws {
        try await saveRecords()
        let (grants, readers) = Self.grants[index]
        try await setGrants(grants)
        for reader in Self.readers where reader != "nobody" {
            let database = database(reader)
            let mayRead = readers.contains(reader)
            let operations: [RecordOperation] = [
                .create("a"), .create("a", type: "Other"), .make(.update, "a", [:], type: "Note", tag: "0"),
                .make(.replace, "a", [:], type: "Note", tag: "0"), .make(.update, "a", [:], type: "Other", tag: "0"),
            ]
            for operation in operations {
                let result = try await database.modify([operation])[0]
                let error = try #require(result.error)
                if !mayRead {
                    #expect(!text([result]).contains(Self.secret) && error.serverRecord.isEmpty)
                    // No request reveals a record's type.
                    if operation.record.recordType == "Other" { #expect(!error.reason.contains("has the type")) }
                }
            }
            // A conflict gives the record to who may read it.
            let conflict = try await database.modify([.create("a")])[0].error
            let server = (conflict?.serverRecord ?? []).map(RecordResult.record)
            #expect(text(server).contains(Self.secret) == mayRead)
        }
    }

    @Test(arguments: grants.indices)
    func `a query subscription notifies only of records that its account may read`(index: Int) async throws {
        try await saveRecords()
        let (grants, readers) = Self.grants[index]
        var devices: [String: TestDevice] = [:]
        var info = NotificationInfoDictionary()
        info.alertLocalizationKey = "%@"
        info.alertLocalizationArgs = ["t"]
        info.titleLocalizationArgs = ["t"]
        info.additionalFields = ["t"]
        info.collapseIDKey = "t"
        for reader in Self.readers where reader != "nobody" {
            devices[reader] = try await TestDevice(cloud, reader)
            // Made while everybody may read.
            let filters = [[], [Filter(.field("t"), .beginsWith, .string("s3"))]]
            for (number, filters) in filters.enumerated() {
                let saved = try await database(reader).save(.query("S\(number)", where: filters, info: info))
                #expect(saved.subscription != nil)
            }
        }
        try await setGrants(grants)
        let writer = grants.isEmpty || grants.contains("WRITE TO \"_creator\"") ? "mei" : "cora"
        #expect(try await database("mei").modify([.create("new", ["t": .string(Self.secret)])])[0].record != nil)
        if try await database(writer).modify([.force("new", ["t": .string(Self.secret + "2")])])[0].record != nil {
            #expect(try await database(writer).modify([.delete("new")])[0].isDeleted)
        }
        for (reader, device) in devices {
            var told: [NotificationPayload] = []
            while let payload = try await device.next() { told.append(payload) }
            #expect(told.isEmpty != readers.contains(reader), "\(reader), \(grants)")
            #expect("\(told)".contains(Self.secret) == readers.contains(reader), "\(reader), \(grants)")
        }
    }

    @Test(arguments: grants.indices)
    func `a subscription accepts the conditions of a query`(index: Int) async throws {
        try await saveRecords()
        try await setGrants(Self.grants[index].grants)
        for reader in Self.readers where reader != "nobody" {
            let result = try await database(reader).save(.query("S"))
            let refusal = await said(database(reader), query())
            #expect((result.error == nil) == refusal.hasPrefix("{"), "\(reader) \(refusal)")
        }
    }

    @Test func `in the public database a reference does not prevent the deletion of another account's record`()
        async throws
    {
        try await saveRecords()
        let tom = database("tom")
        let held = ReferenceValue(recordName: "a", action: .validate)
        #expect(try await tom.modify([.create("held", ["p": .reference(held)])])[0].record != nil)
        #expect(try await tom.modify([.create("child", parent: "a")])[0].record != nil)
        #expect(try await database("mei").modify([.create("own", parent: "b1")])[0].record != nil)
        #expect(try await database("mei").modify([.delete("a")]).map(\.summary) == ["deleted"])
        #expect(try await tom.existing("held", "child") == ["held", "child"])
        #expect(try await database("mei").modify([.delete("b1")]).map(\.summary) == ["error 31"])
    }
}
