import NephosWire
import Testing

@testable import NephosService

/// Permissions on records of the public database (CloudKit Schema Language, security roles).
@Suite struct PermissionTests {
    private let cloud = TestCloud()
    private var mei: TestDatabase { TestDatabase(cloud, "mei", .public) }
    private var tom: TestDatabase { TestDatabase(cloud, "tom", .public) }
    private var nobody: TestDatabase { TestDatabase(cloud, nil, .public) }

    private func grant(_ grants: String...) async throws {
        let list = grants.map { ", GRANT \($0)" }.joined()
        let text =
            "DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, t STRING QUERYABLE\(list));"
        let report = try await cloud.service.importSchema(text, cloud.context(nil, .public))
        #expect(report.findings == [])
    }

    private func query(_ database: TestDatabase) async throws(ServiceError) -> [String] {
        let request = QueryRecordsRequest(query: Query(recordType: "Note"))
        return try await cloud.service.queryRecords(request, database.context).summary.sorted()
    }

    /// The code and reason of what a batch of one gets; nil where it succeeds.
    private func refusal(_ database: TestDatabase, _ operation: RecordOperation) async throws -> String? {
        let error = try await database.modify([operation])[0].error
        return error.map { "\($0.serverErrorCode.rawValue) \($0.clientErrorCode ?? 0) \($0.reason)" }
    }

    @Test func `by default everyone reads, signed-in accounts create, and only the creator changes`() async throws {
        #expect(try await mei.modify([.create("a", ["t": .string("mei")])]).map(\.summary) == ["saved"])
        let denied =
            "ACCESS_DENIED 10 WRITE operation not permitted on records of type 'Note': the schema grants WRITE to"
            + " \"_creator\" only"
        #expect(try await refusal(tom, .force("a", ["t": .string("tom")])) == denied)
        #expect(try await refusal(tom, .delete("a")) == denied)
        #expect(try await refusal(tom, .make(.update, "a", [:], type: "Note", tag: "0")) == denied)
        #expect(try await refusal(tom, .make(.replace, "a", [:], type: "Note", tag: "0")) == denied)
        // That a name is taken is no secret.
        #expect(try await refusal(tom, .create("a"))?.hasPrefix("EXISTS 14") == true)
        #expect(try await refusal(tom, .create("b", ["t": .string("tom")])) == nil)
        #expect(try await refusal(mei, .force("a", ["t": .string("mei again")])) == nil)
        #expect(try await query(nobody) == ["a", "b"])
        #expect(try await nobody.existing("a", "b") == ["a", "b"])
        #expect(try await refusal(mei, .delete("a")) == nil)
        #expect(try await refusal(tom, .delete("a")) == nil, "nothing to delete needs no right")
    }

    @Test func `a custom role admits the accounts that have it`() async throws {
        try await grant("READ TO \"_world\"", "CREATE TO \"_icloud\"", "WRITE TO Curator")
        _ = try await mei.modify([.create("a")])
        _ = try await tom.modify([.create("b")])
        let tomAsCurator = RoleRequest(account: "tom", role: "Curator")
        let change: RecordOperation = .force("a", ["t": .string("tom")])
        #expect(try await refusal(tom, change)?.contains("grants WRITE to \"Curator\" only") == true)
        let given = try await cloud.service.assignRole(tomAsCurator, cloud.context(nil, .public))
        #expect(given.members == [tomAsCurator])
        #expect(try await refusal(tom, change) == nil)
        #expect(try await refusal(mei, change)?.hasPrefix("ACCESS_DENIED") == true)
        // An import of a schema that has the role changes nothing for who has it.
        try await grant("READ TO \"_world\"", "WRITE TO Curator", "CREATE TO Curator")
        #expect(try await refusal(tom, .create("c")) == nil)
        #expect(try await refusal(mei, .create("d"))?.hasPrefix("ACCESS_DENIED") == true)
        #expect(try await cloud.service.listRoles(.init(), cloud.context(nil, .public)).members == [tomAsCurator])
        let left = try await cloud.service.revokeRole(tomAsCurator, cloud.context(nil, .public))
        #expect(left.members == [])
        #expect(try await refusal(tom, change)?.hasPrefix("ACCESS_DENIED") == true)
    }

    @Test func `if only a role may read, its accounts find everything and others nothing`() async throws {
        try await grant("READ TO Curator", "CREATE TO \"_icloud\"", "WRITE TO Curator")
        _ = try await mei.modify([.create("a")])
        _ = try await tom.modify([.create("b")])
        _ = try await cloud.service.assignRole(.init(account: "tom", role: "Curator"), cloud.context(nil, .public))
        #expect(try await query(tom) == ["a", "b"])
        await #expect(throws: ServiceError.self) { try await query(mei) }
    }

    @Test func `a role that is dropped and made again has no accounts`() async throws {
        try await grant("READ TO Curator", "WRITE TO Curator", "CREATE TO \"_icloud\"")
        _ = try await tom.modify([.create("b")])
        _ = try await cloud.service.assignRole(.init(account: "tom", role: "Curator"), cloud.context(nil, .public))
        #expect(try await query(tom) == ["b"])
        let without = "DEFINE SCHEMA RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, t STRING QUERYABLE);"
        #expect(try await cloud.service.importSchema(without, cloud.context(nil, .public)).findings == [])
        try await grant("READ TO Curator", "WRITE TO Curator", "CREATE TO \"_icloud\"")
        await #expect(throws: ServiceError.self) { try await query(tom) }
        #expect(try await cloud.service.listRoles(.init(), cloud.context(nil, .public)).members == [])
    }

    @Test func `a missing role or account is refused`() async throws {
        try await grant("READ TO Curator")
        for request in [RoleRequest(account: "mei", role: "Curator"), RoleRequest(account: "nobody", role: "Curator")] {
            let error = await #expect(throws: ServiceError.self) {
                try await cloud.service.assignRole(request, cloud.context(nil, .public))
            }
            #expect(error?.reason.hasPrefix("there is no account '\(request.account)': ") == true)
        }
        _ = try await mei.modify([.create("a", type: "Other")])
        for role in ["Editor", "_icloud", "", "Curator@1"] {
            let error = await #expect(throws: ServiceError.self) {
                try await cloud.service.assignRole(.init(account: "mei", role: role), cloud.context(nil, .public))
            }
            #expect(error?.reason.contains("has no role '\(role)'") == true)
        }
    }

    @Test func `a refusal fails its item, and the others of the batch succeed`() async throws {
        _ = try await mei.modify([.create("a")])
        #expect(
            try await tom.modify([.create("b"), .delete("a"), .create("c")]).map(\.summary) == [
                "saved", "error 10", "saved",
            ])
    }

    @Test func `the private database needs no grants`() async throws {
        try await grant("READ TO Curator")
        let own = TestDatabase(cloud, "mei", .private)
        #expect(try await own.modify([.create("a", ["t": .string("x")])]).map(\.summary) == ["saved"])
        #expect(try await query(own) == ["a"])
        #expect(try await own.existing("a") == ["a"])
    }

    @Test func `without a public read grant, only accounts with a grant read`() async throws {
        try await grant("CREATE, READ TO \"_icloud\"", "WRITE TO \"_creator\"")
        _ = try await mei.modify([.create("a", ["t": .string("x")])])
        #expect(try await query(tom) == ["a"])
        // Signing in would help.
        await #expect(throws: ServiceError.authenticationRequired) { try await query(nobody) }
        #expect(try await nobody.lookup("a")[0].error?.serverErrorCode == .authenticationRequired)
    }

    @Test func `if only the creator reads, each account finds its own records`() async throws {
        try await grant("CREATE TO \"_icloud\"", "READ, WRITE TO \"_creator\"")
        _ = try await mei.modify([.create("a", ["t": .string("x")]), .create("b", ["t": .string("y")])])
        _ = try await tom.modify([.create("c", ["t": .string("x")])])
        #expect(try await query(mei) == ["a", "b"])
        #expect(try await query(tom) == ["c"])
        let byText = Query(recordType: "Note", filterBy: [Filter(.field("t"), .equals, .string("x"))])
        for (database, names) in [(mei, ["a"]), (tom, ["c"])] {
            var request = QueryRecordsRequest(query: byText)
            #expect(try await cloud.service.queryRecords(request, database.context).summary == names)
            request.wantsCount = true
            #expect(try await cloud.service.queryRecords(request, database.context).count == 1)
        }
        let denied = try await mei.lookup("a", "c")
        #expect(denied.map(\.summary) == ["saved", "error 10"])
        // Neither the record nor its type is revealed.
        #expect(
            denied[1].error?.reason == "READ operation not permitted: the schema does not grant READ of this record")
        for operation in [RecordOperation.force("c", type: "Other"), .delete("c")] {
            #expect(
                try await refusal(mei, operation)
                    == "ACCESS_DENIED 10 WRITE operation not permitted: the schema does not grant READ of this record")
        }
        let conflict = try await mei.modify([.create("c")])[0].error
        #expect(conflict?.serverErrorCode == .exists && conflict?.serverRecord == [])
    }

    @Test func `a write grant includes reading`() async throws {
        try await grant("CREATE TO \"_icloud\"", "WRITE TO \"_creator\"")
        _ = try await mei.modify([.create("a")])
        #expect(try await query(mei) == ["a"])
        #expect(try await mei.existing("a") == ["a"])
        #expect(try await tom.existing("a") == [])
    }

    @Test func `a grant to signed-in accounts lets them change other accounts' records`() async throws {
        try await grant("CREATE, WRITE TO \"_icloud\"", "READ TO \"_world\"")
        _ = try await mei.modify([.create("a")])
        #expect(try await refusal(tom, .force("a", ["t": .string("tom")])) == nil)
        #expect(try await refusal(tom, .delete("a")) == nil)
    }

    @Test func `a grant to an unassigned custom role admits no account`() async throws {
        try await grant("READ, CREATE, WRITE TO Curator")
        #expect(
            try await refusal(mei, .create("a"))
                == "ACCESS_DENIED 10 CREATE operation not permitted on records of type 'Note': the schema grants CREATE to"
                + " \"Curator\" only")
        let denied = ServiceError(
            .accessDenied, .permissionFailure,
            "READ operation not permitted on records of type 'Note': the schema grants READ to \"Curator\" only")
        await #expect(throws: denied) { try await query(mei) }
        await #expect(throws: denied) { try await query(nobody) }
    }

    @Test func `a permission without a grant says how to grant it`() async throws {
        try await grant("READ TO \"_world\"")
        #expect(
            try await refusal(mei, .create("a"))
                == "ACCESS_DENIED 10 CREATE operation not permitted on records of type 'Note': the schema grants CREATE to"
                + " nobody; add GRANT CREATE TO a role")
    }

    @Test func `a grant counts from its import on`() async throws {
        _ = try await mei.modify([.create("a")])
        #expect(try await refusal(tom, .force("a")) != nil)
        try await grant("CREATE, WRITE TO \"_icloud\"", "READ TO \"_world\"")
        #expect(try await refusal(tom, .force("a")) == nil)
        try await grant("WRITE TO \"_creator\"")
        #expect(try await refusal(tom, .force("a")) != nil)
        #expect(try await refusal(tom, .create("b")) != nil)
    }

    @Test func `a user may change only their own user record`() async throws {
        let mine = try await cloud.service.currentUser(mei.context).userRecordName
        _ = try await cloud.service.currentUser(tom.context)
        #expect(try await refusal(mei, .force(mine, ["nick": .string("m")], type: "Users")) == nil)
        #expect(try await tom.lookup(mine)[0].record != nil)
        #expect(try await tom.modify([.delete(mine)])[0].error != nil)
    }
}
