import Foundation
import NephosPostgresTesting
import NephosTesting
import Testing

@testable import NephosPostgres

/// Clients of several containers, environments and accounts at one server process, concurrently: each answer is compared with
/// a model of the client's own databases.
@Suite struct ContainersModelTests {
    private static let steps = ProcessInfo.processInfo.environment["NEPHOS_FUZZ_STEPS"].flatMap { Int($0) } ?? 400

    @Test(.timeLimit(.minutes(10)), arguments: [UInt64.random(in: 0...1_000_000)])
    func `answers over SQLite hold only the caller's own records`(_ seed: UInt64) async throws {
        try await withTemporaryDirectory { directory in
            try await expectModel(["--data", directory.path], seed)
        }
    }

    @Test(.overPostgreSQL, .oneAtATime, .timeLimit(.minutes(10)), arguments: [UInt64.random(in: 0...1_000_000)])
    func `answers over PostgreSQL hold only the caller's own records`(_ seed: UInt64) async throws {
        let name = "containers_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let host = try #require(text.firstMatch(of: /host=(\S+)/)).1
        let admin = try PostgresConnection(
            try PostgresAddress(text), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        try admin.execute("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
        admin.close()
        let storage = ["--storage", "postgresql://nephos@/\(name)?host=\(host)", "--accept-unsafe-storage"]
        try await withTemporaryDirectory { directory in
            try await expectModel(storage + ["--data", directory.path], seed)
            let verify = try StartedNephos(["verify"] + storage + ["--data", directory.path])
            let finished = try await verify.finish()
            #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
        }
    }

    private func expectModel(_ storage: [String], _ seed: UInt64) async throws {
        let server = try StartedNephos(["dev", "--port", "0"] + storage)
        let port = try readyPort(try await server.readyLine())
        try await ModelClient.deploySchemas(port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    var client = try ModelClient(port, number, seed, mayLag: storage.contains("--storage"))
                    for _ in 0..<Self.steps { try await client.step() }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.stop().status == 0)
    }
}

/// One account of several stores, and what its databases hold.
private struct ModelClient {
    private struct Store: Hashable {
        var container: String
        var environment: String
        static let all = ["Notes", "Lists"].flatMap { name in
            ["development", "production"].map { Store(container: "iCloud.org.example.\(name)", environment: $0) }
        }
    }

    /// A private database's records by zone and name, and where its feeds were last.
    private struct Database {
        var zones: [String: [String: String]] = [:]
        var tokens: [String: String] = [:]
        var changed: [String: Set<String>] = [:]
    }

    private let connection: TestConnection
    private let account: String
    private let mayLag: Bool
    private var random: SeededGenerator
    private var databases: [Store: Database] = [:]
    private let seed: UInt64
    private var count = 0

    init(_ port: UInt16, _ number: Int, _ seed: UInt64, mayLag: Bool = false) throws {
        connection = try TestConnection(port: port)
        self.mayLag = mayLag
        // Two accounts of the same name differ in the store alone.
        account = "person\(number)"
        self.seed = seed
        random = SeededGenerator(seed: seed &* 31 &+ UInt64(number))
    }

    /// Makes the schema in the development environments, and deploys it.
    static func deploySchemas(_ port: UInt16) async throws {
        let client = try ModelClient(port, 0, 0)
        for store in Store.all where store.environment == "development" {
            _ = try await client.post(
                store, "public/records/modify", #"{"operations":[\#(client.record("first", "create", store))]}"#)
            _ = try await client.post(store, "public/records/query", #"{"query":{"recordType":"Note"}}"#)
            let deployed = try await client.connection.request(
                "POST", "/nephos/1/\(store.container)/\(store.environment)/schema/deploy", body: "")
            try #require(deployed.status == 200, "\(deployed.text)")
        }
    }

    mutating func step() async throws {
        count += 1
        let store = Store.all.randomElement(using: &random) ?? Store.all[0]
        let zone = ["A", "B"].randomElement(using: &random) ?? "A"
        let name = "r\(Int.random(in: 0..<6, using: &random))"
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<3: try await save(name, zone, store)
        case 3: try await delete(name, zone, store)
        case 4, 5: try await lookUp(name, zone, store)
        case 6: try await listZones(store)
        case 7, 8: try await fetchChanges(zone, store)
        case 9: try await query(zone, store)
        case 10: try await savePublic(name, store)
        default: try await deleteZone(zone, store)
        }
    }

    // MARK: Steps

    private mutating func save(_ name: String, _ zone: String, _ store: Store) async throws {
        if databases[store]?.zones[zone] == nil {
            // What fails first has its store's transaction rolled back.
            let refused = try await modify(store, zone, record(name, "forceUpdate", store))
            try expect(refused.text("serverErrorCode") == "ZONE_NOT_FOUND", "a save without its zone", refused, store)
            _ = try await post(
                store, "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#)
            databases[store, default: Database()].zones[zone] = [:]
        }
        let saved = try await modify(store, zone, record(name, "forceUpdate", store))
        try expect(saved.text("recordChangeTag") != nil, "a save of \(name)", saved, store)
        let value = value(store)
        databases[store, default: Database()].zones[zone]?[name] = value
        databases[store, default: Database()].changed[zone, default: []].insert(name)
    }

    private mutating func delete(_ name: String, _ zone: String, _ store: Store) async throws {
        let isThere = databases[store]?.zones[zone]?[name] != nil
        let answer = try await modify(
            store, zone, #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#)
        if databases[store]?.zones[zone] == nil {
            return try expect(answer.text("serverErrorCode") == "ZONE_NOT_FOUND", "a deletion", answer, store)
        }
        try expect(answer["deleted"] as? Bool == true || !isThere, "a deletion", answer, store)
        databases[store]?.zones[zone]?[name] = nil
        if isThere { databases[store]?.changed[zone, default: []].insert(name) }
    }

    private func lookUp(_ name: String, _ zone: String, _ store: Store) async throws {
        let answer = try await post(
            store, "private/records/lookup",
            #"{"zoneID":{"zoneName":"\#(zone)"},"records":[{"recordName":"\#(name)"}]}"#)
        let record = answer.objects("records").first ?? answer
        guard let expected = databases[store]?.zones[zone]?[name] else {
            return try expect(record.text("serverErrorCode") != nil, "a lookup of nothing", record, store)
        }
        try expect(Self.value(of: record) == expected, "a lookup", record, store)
    }

    private func listZones(_ store: Store) async throws {
        let answer = try await post(store, "private/zones/list", "{}")
        let names = Set(answer.objects("zones").compactMap { $0.object("zoneID")?.text("zoneName") })
        let expected = Set(databases[store].map { Array($0.zones.keys) } ?? [])
        try expect(names.subtracting(["_defaultZone"]) == expected, "the zones, not \(expected)", answer, store)
    }

    private mutating func fetchChanges(_ zone: String, _ store: Store) async throws {
        let token = databases[store]?.tokens[zone]
        let since = token.map { #","syncToken":"\#($0)""# } ?? ""
        let answer = try await post(
            store, "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(since)}]}"#)
        let page = answer.objects("zones").first ?? answer
        guard let records = databases[store]?.zones[zone] else {
            return try expect(page.text("serverErrorCode") != nil, "the feed of no zone", page, store)
        }
        let changed = databases[store]?.changed[zone] ?? []
        for record in page.objects("records") {
            let name = record.text("recordName") ?? ""
            try expect(token == nil || changed.contains(name), "a change of \(name)", record, store)
            if record["deleted"] as? Bool == true {
                try expect(records[name] == nil, "the deletion of \(name)", record, store)
            } else {
                try expect(Self.value(of: record) == records[name], "the change of \(name)", record, store)
            }
        }
        let names = Set(page.objects("records").compactMap { $0.text("recordName") })
        let expected = token == nil ? Set(records.keys) : changed
        // Over PostgreSQL a feed may end before changes that are newer than another's open transaction: they come later.
        try expect(mayLag || names.isSuperset(of: expected), "changes, not \(expected.sorted())", page, store)
        databases[store]?.tokens[zone] = page.text("syncToken")
        databases[store]?.changed[zone] = expected.subtracting(names)
    }

    private func query(_ zone: String, _ store: Store) async throws {
        let answer = try await post(
            store, "private/records/query",
            #"{"zoneID":{"zoneName":"\#(zone)"},"query":{"recordType":"Note"}}"#)
        guard let records = databases[store]?.zones[zone] else {
            return try expect(answer.text("serverErrorCode") != nil, "a query of no zone", answer, store)
        }
        // A record type that was never saved is no error for an empty zone of an account that saved none.
        if answer.text("serverErrorCode") != nil {
            return try expect(records.isEmpty, "a query", answer, store)
        }
        var found: [String: String] = [:]
        for record in answer.objects("records") { found[record.text("recordName") ?? ""] = Self.value(of: record) }
        try expect(found == records, "a query, not \(records)", answer, store)
    }

    /// The public database is everybody's: a client's own records are read back there.
    private func savePublic(_ name: String, _ store: Store) async throws {
        let own = "\(account)-\(name)"
        let saved = try await post(
            store, "public/records/modify", #"{"operations":[\#(record(own, "forceUpdate", store))]}"#)
        try expect(saved.objects("records").first?.text("recordChangeTag") != nil, "a public save", saved, store)
        let answer = try await post(store, "public/records/lookup", #"{"records":[{"recordName":"\#(own)"}]}"#)
        try expect(answer.objects("records").first.map(Self.value) == value(store), "a public lookup", answer, store)
    }

    private mutating func deleteZone(_ zone: String, _ store: Store) async throws {
        guard databases[store]?.zones[zone] != nil, Int.random(in: 0..<3, using: &random) == 0 else { return }
        _ = try await post(
            store, "private/zones/modify",
            #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#)
        databases[store]?.zones[zone] = nil
        databases[store]?.tokens[zone] = nil
        databases[store]?.changed[zone] = nil
    }

    // MARK: Requests

    /// Names the store, the account and the step.
    private func value(_ store: Store) -> String { "\(store.container)/\(store.environment)/\(account)/\(count)" }

    private static func value(of record: [String: Any]) -> String? {
        record.object("fields")?.object("text")?.text("value")
    }

    private func record(_ name: String, _ operation: String, _ store: Store) -> String {
        """
        {"operationType":"\(operation)","record":{"recordName":"\(name)","recordType":"Note",\
        "fields":{"text":{"value":"\(value(store))","type":"STRING"}}}}
        """
    }

    private func modify(_ store: Store, _ zone: String, _ operation: String) async throws -> [String: Any] {
        let answer = try await post(
            store, "private/records/modify", #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[\#(operation)]}"#)
        return answer.objects("records").first ?? answer
    }

    private func post(_ store: Store, _ path: String, _ body: String) async throws -> [String: Any] {
        let target = "/database/1/\(store.container)/\(store.environment)/\(path)"
        let response = try await connection.request(
            "POST", "\(target)?ckAPIToken=any&ckWebAuthToken=dev:\(account)", body: body)
        return try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any] ?? [:]
    }

    private func expect(
        _ condition: Bool, _ what: @autoclosure () -> String, _ answer: [String: Any], _ store: Store
    ) throws {
        guard !condition else { return }
        throw TestFailure("seed \(seed), step \(count) of \(account) in \(store): \(what()): \(answer)")
    }
}
