import Dispatch
import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Two concurrent requests: the second runs, as far as it gets, before each statement of the first. The result is always
/// that of a serial order.
@Suite("Writes beside each other over PostgreSQL", .overPostgreSQL, .oneAtATime) struct InterleavedWritesTests {
    @Test(arguments: Interleaving.all, [false, true])
    func `invariants hold with any interleaved write`(_ interleaving: Interleaving, isSwapped: Bool) async throws {
        let turn = Turn()
        var options = TestCluster.options(connections: 6)
        options.beforeStatement = { turn.pass() }
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        var statement = 1
        var wasInterrupted = true
        while wasInterrupted {
            let zone = "Z\(statement)"
            let database = try await TestDatabase(cloud).making(zone: zone)
            try await interleaving.prepare(database)
            await cloud.service.settle()
            let (first, second) =
                isSwapped ? (interleaving.second, interleaving.first) : (interleaving.first, interleaving.second)
            let other = turn.arm(before: statement) { await second(database) }
            await first(database)
            wasInterrupted = await turn.disarm(other)
            await cloud.service.settle()
            try await interleaving.check(database, "before statement \(statement)")
            statement += 1
        }
        #expect(statement > 2, "the first has statements")
        await cloud.service.close()
    }
}

/// Lets a task run before a statement of another.
private final class Turn: Sendable {
    private struct Armed: Sendable {
        var left: Int
        let start: AsyncStream<Void>.Continuation
        let isOver: DispatchSemaphore
    }

    private let armed = Mutex<Armed?>(nil)

    /// Has `body` run before the nth statement from now on.
    func arm(before statement: Int, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let (starts, start) = AsyncStream<Void>.makeStream()
        let isOver = DispatchSemaphore(value: 0)
        armed.withLock { $0 = Armed(left: statement, start: start, isOver: isOver) }
        return Task {
            for await _ in starts { break }
            await body()
            isOver.signal()
        }
    }

    /// Called before each statement. Who waits for a lock that the caller has waits on; then the caller goes on.
    func pass() {
        let due = armed.withLock { armed -> Armed? in
            guard let left = armed?.left else { return nil }
            armed?.left = left - 1
            guard left == 1 else { return nil }
            defer { armed = nil }
            return armed
        }
        guard let due else { return }
        due.start.yield()
        _ = due.isOver.wait(timeout: .now() + .milliseconds(150))
    }

    /// - Returns: whether the other was let in between; else it runs now.
    func disarm(_ other: Task<Void, Never>) async -> Bool {
        let late = armed.withLock { armed -> Armed? in
            defer { armed = nil }
            return armed
        }
        late?.start.yield()
        await other.value
        return late == nil
    }
}

struct Interleaving: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var prepare: @Sendable (TestDatabase) async throws -> Void = { _ in }
    let first: @Sendable (TestDatabase) async -> Void
    let second: @Sendable (TestDatabase) async -> Void
    let check: @Sendable (TestDatabase, Comment) async throws -> Void

    static let all: [Interleaving] = [
        Interleaving(
            testDescription: "create / create",
            first: { _ = try? await $0.modify([.create("a", ["by": .string("first")])]) },
            second: { _ = try? await $0.modify([.create("a", ["by": .string("second")])]) },
            check: { database, comment async throws in
                let page = try await database.changes()
                #expect(page.summary == ["a"], comment)
                // The one that came second was refused, and not written over the other.
                let again = try await database.modify([.create("a")])
                #expect(again.map(\.summary) == ["error 14"], comment)
            }),
        Interleaving(
            testDescription: "update / update with the same tag",
            prepare: { _ = try await $0.modify([.create("a", ["n": .int64(0)])]) },
            first: { await $0.increment("a") }, second: { await $0.increment("a") },
            check: { database, comment async throws in
                let record = try await database.lookup("a")[0].record
                let count = try record?.fields.decoded()["n"]?.value
                #expect(count == .int64(1) || count == .int64(2), comment)
            }),
        Interleaving(
            testDescription: "child saved / target deleted",
            prepare: { _ = try await $0.modify([.create("list")]) },
            first: { _ = try? await $0.modify([.create("item", ["list": .owner("list")])]) },
            second: { _ = try? await $0.modify([.delete("list")]) },
            check: { database, comment async throws in
                let existing = try await database.existing("item", "list")
                #expect(!existing.contains("item") || existing.contains("list"), comment)
            }),
        Interleaving(
            testDescription: "save / zone deleted",
            first: { _ = try? await $0.modify([.create("a")]) },
            second: { try? await $0.deleteZone($0.zone ?? "") },
            check: { database, comment async throws in
                let again = try await database.making(zone: database.zone ?? "")
                #expect(try await again.changes().summary == [], comment)
                #expect(try await again.modify([.create("a")]).map(\.summary) == ["saved"], comment)
            }),
        Interleaving(
            testDescription: "save / index defined",
            prepare: { _ = try await $0.modify([.create("before", ["n": .int64(1)])]) },
            first: { _ = try? await $0.modify([.create("a", ["n": .int64(2)])]) },
            second: { _ = try? await $0.query(above: 0) },
            check: { database, comment async throws in
                #expect(try await database.query(above: 0).sorted() == ["a", "before"], comment)
                #expect(try await database.query(above: 1) == ["a"], comment)
            }),
        Interleaving(
            testDescription: "save / field dropped",
            first: { _ = try? await $0.modify([.create("a", ["drop": .string("x")])]) },
            second: { database in
                _ = try? await database.cloud.service.importSchema(
                    schemaText("Note (n NUMBER, title STRING)"), database.context)
            },
            check: { database, comment async throws in
                let schema = try await database.cloud.service.exportSchema(database.context)
                if try await database.existing("a") == ["a"] { #expect(schema.contains("drop "), comment) }
            }),
        Interleaving(
            testDescription: "one new field with two types",
            first: { _ = try? await $0.modify([.create("a", ["new\($0.zone ?? "")": .string("x")])]) },
            second: { _ = try? await $0.modify([.create("b", ["new\($0.zone ?? "")": .int64(1)])]) },
            check: { database, comment async throws in
                #expect(try await database.existing("a", "b").count == 1, comment)
            }),
        Interleaving(
            testDescription: "an account's first request twice",
            first: { await $0.firstRequest("a") }, second: { await $0.firstRequest("b") },
            check: { database, comment async throws in
                let other = TestDatabase(database.cloud, "new\(database.zone ?? "")")
                #expect(try await other.existing("a", "b") == ["a", "b"], comment)
            }),
        Interleaving(
            testDescription: "purge / saved and deleted again",
            prepare: { database in
                _ = try await database.modify([.create("a")])
                _ = try await database.modify([.delete("a")])
                database.cloud.advance(milliseconds: 10)
            },
            first: { database in try? await database.cloud.service.forgetDeletions(before: database.cloud.now) },
            second: { database in
                _ = try? await database.modify([.create("a")])
                _ = try? await database.modify([.delete("a")])
            },
            check: { database, comment async throws in
                #expect(try await database.existing("a") == [], comment)
                #expect(try await database.modify([.create("a")]).map(\.summary) == ["saved"], comment)
            }),
        Interleaving(
            testDescription: "share accepted / child saved",
            prepare: { try await $0.share() }, first: { await $0.accept() },
            second: { _ = try? await $0.modify([.create("child", parent: "root")]) },
            check: { database, comment async throws in
                #expect(try await database.seenByParticipant() == ["child", "root"], comment)
            }),
        Interleaving(
            testDescription: "participant's update / owner's update with the same tag",
            prepare: { database in
                try await database.share()
                _ = try await database.modify([.create("a", ["n": .int64(0)], parent: "root")])
                await database.accept()
            },
            first: { await $0.participant([.force("a", ["by": .string("participant")])]) },
            second: { await $0.increment("a") },
            check: { database, comment async throws in
                let record = try await database.lookup("a")[0].record
                #expect(try record?.fields.decoded()["by"]?.value == .string("participant"), comment)
                #expect(try await database.seenByParticipant() == ["a", "root"], comment)
            }),
        Interleaving(
            testDescription: "participant leaves / saves",
            prepare: { database in
                try await database.share()
                await database.accept()
            },
            first: { await $0.participant([.delete("share")]) },
            second: { await $0.participant([.create("late", parent: "root")]) },
            check: { database, comment async throws in
                #expect(try await database.seenByParticipant() == nil, comment)
                // What was saved before is the owner's.
                #expect(try await database.existing("root") == ["root"], comment)
            }),
    ]
}

extension TestDatabase {
    /// Reads a counter and increments it, unless another request did meanwhile.
    fileprivate func increment(_ name: String) async {
        guard let record = try? await lookup(name)[0].record,
            case .int64(let count)? = try? record.fields.decoded()["n"]?.value
        else { return }
        _ = try? await modify([.update(record, ["n": .int64(count + 1)])])
    }

    fileprivate func firstRequest(_ record: String) async {
        _ = try? await TestDatabase(cloud, "new\(zone ?? "")").modify([.create(record)])
    }

    /// Shares everything below a new record "root".
    fileprivate func share() async throws {
        let body = """
            {"zoneID":{"zoneName":"\(zone ?? "")"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        _ = try await cloud.service.modifyRecords(ModifyRecordsRequest(decoding: Array(body.utf8)), context)
    }

    fileprivate func accept() async {
        guard let share = try? await lookup("share")[0].record?.shareDetails, let guid = share.shortGUID else { return }
        _ = try? await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("participant"))
    }

    private func sharedZone() async throws -> ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zone ?? "", ownerRecordName: try await cloud.service.currentUser(context).userRecordName)
    }

    /// Saves as the participant.
    fileprivate func participant(_ operations: [RecordOperation]) async {
        guard let zone = try? await sharedZone() else { return }
        let request = ModifyRecordsRequest(operations: operations, zoneID: zone, wantsServerRecord: true)
        _ = try? await cloud.service.modifyRecords(request, cloud.context("participant", .shared))
    }

    /// The names of the records that the participant's feed has; nil without the zone.
    fileprivate func seenByParticipant() async throws -> [String]? {
        let request = RecordChangesRequest(zone: .init(zoneID: try await sharedZone()))
        let changes = try? await cloud.service.recordChanges(request, cloud.context("participant", .shared)).changes
        return changes.map { $0.summary.filter { $0 != "share" }.sorted() }
    }

    /// The names of the notes whose `n` is above a number.
    fileprivate func query(above number: Int64) async throws -> [String] {
        let query = Query(
            recordType: "Note",
            filterBy: [Filter(.field("n"), .greaterThan, .int64(number))])
        let request = QueryRecordsRequest(query: query, zoneID: zoneID)
        return try await cloud.service.queryRecords(request, context).records.compactMap { $0.record?.recordName }
    }
}
