import NephosWire
import Testing

@testable import NephosService

@Suite struct AccountTests {
    @Test func `a user's record name is stable, opaque, and another in each container`() async throws {
        let cloud = TestCloud()
        let first = try await cloud.service.currentUser(cloud.context("me")).userRecordName
        #expect(try await cloud.service.currentUser(cloud.context("me")).userRecordName == first)
        #expect(first.hasPrefix("_") && first.count == 33)
        #expect(try await cloud.service.currentUser(cloud.context("other")).userRecordName != first)
        let elsewhere = try await cloud.service.currentUser(cloud.context("me", container: "iCloud.b"))
        #expect(elsewhere.userRecordName != first)
    }

    @Test func `NAME@localhost is NAME, whichever came first, and other addresses are distinct`() async throws {
        let cloud = TestCloud()
        func user(_ name: String) async throws -> String {
            try await cloud.service.currentUser(cloud.context(name)).userRecordName
        }
        #expect(try await user("bob") == user("bob@localhost"))
        #expect(try await user("eve@LocalHost") == user("eve"))
        #expect(try await user("cafe\u{301}@localhost") == user("caf\u{E9}"))
        for (one, other) in [("@localhost", ""), ("bob@localhost.org", "bob"), ("bob\u{60}localhost", "bob")] {
            #expect(AccountName.canonical(one) == one)
            if !other.isEmpty { #expect(try await user(one) != user(other)) }
        }
    }

    @Test func `a new user has an empty user record in the public and in its private database`() async throws {
        let cloud = TestCloud()
        let user = try await cloud.service.currentUser(cloud.context()).userRecordName
        for scope in [DatabaseScope.public, .private] {
            let database = TestDatabase(cloud, "me", scope)
            let record = try #require(try await database.lookup(user)[0].record)
            #expect(record.recordType == "Users" && record.fields == .empty)
            #expect(try await database.modify([.update(record, ["nick": .string("Mei")])])[0].summary == "saved")
            #expect(try await database.modify([.delete(user)])[0].summary == "error 12")
        }
    }

    @Test func `without an account only the public database can be read`() async throws {
        let cloud = TestCloud()
        _ = try await TestDatabase(cloud, "me", .public).modify([.create("a")])
        let nobody = TestDatabase(cloud, nil, .public)
        #expect(try await nobody.existing("a") == ["a"])
        await #expect(throws: ServiceError.authenticationRequired) { try await nobody.modify([.create("b")]) }
        for scope in [DatabaseScope.private, .shared] {
            let database = TestDatabase(cloud, nil, scope)
            await #expect(throws: ServiceError.authenticationRequired) { try await database.lookup("a") }
            await #expect(throws: ServiceError.authenticationRequired) {
                try await cloud.service.listZones(database.context)
            }
        }
        await #expect(throws: ServiceError.authenticationRequired) {
            try await cloud.service.currentUser(cloud.context(nil))
        }
    }

    @Test func `records of other users carry their names`() async throws {
        let cloud = TestCloud()
        let schema = """
            DEFINE SCHEMA RECORD TYPE Note (x INT64, GRANT READ, CREATE, WRITE TO "_icloud");
            """
        #expect(try await cloud.service.importSchema(schema, cloud.context()).isAllowed)
        let mine = TestDatabase(cloud, "me", .public)
        _ = try await mine.modify([.create("a")])
        _ = try await TestDatabase(cloud, "other", .public).modify([.force("a", ["x": .int64(1)])])
        let record = try #require(try await mine.lookup("a")[0].record)
        let me = try await cloud.service.currentUser(cloud.context("me")).userRecordName
        let other = try await cloud.service.currentUser(cloud.context("other")).userRecordName
        #expect(record.created?.userRecordName == me && record.modified?.userRecordName == other)
    }
}
