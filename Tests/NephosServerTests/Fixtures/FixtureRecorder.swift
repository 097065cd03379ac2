import CloudKit
import Foundation
import Testing

/// Sends requests of every kind to the server of a fixture, and keeps them with their answers.
struct FixtureRecorder {
    let server: FixtureServer
    let program: FixtureProgram
    private(set) var requests: [RecordedRequest] = []

    init(server: FixtureServer, program: FixtureProgram) {
        (self.server, self.program) = (server, program)
    }

    private static let zone = #"{"zoneName":"Lists"}"#

    /// Reads come first, because writes change what they find.
    mutating func record() async throws {
        for container in FixtureContent.containers {
            for environment in ["development", "production"] { try await recordPlainReads(container, environment) }
        }
        try await recordPrivateReads()
        try await recordSharedReads()
        try await recordAdministration()
        try await recordWrites()
    }

    /// Sends a request below `/database/1`, and returns its answer.
    @discardableResult
    private mutating func post(
        _ person: String, _ path: String, _ body: String, writes: Bool = false,
        of container: String = FixtureContent.container, in environment: String = "development"
    ) async throws -> [String: Any] {
        let name = try #require(CloudKitEnvironment.Name(rawValue: environment))
        var request = RecordedRequest(
            method: "POST",
            path: "/database/1/\(container)/\(environment)/\(path)?ckAPIToken=\(program.apiToken(container, name))",
            token: try await program.token(person, container, name), body: body)
        request.writes = writes
        return try await send(request)
    }

    @discardableResult
    private mutating func send(_ request: RecordedRequest) async throws -> [String: Any] {
        var request = request
        let answer = await server.send(request)
        request.status = answer.status
        request.answer = request.normalised(answer.text, url: server.url)
        requests.append(request)
        return (try? JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any]) ?? [:]
    }

    // MARK: Reads

    private mutating func recordPlainReads(_ container: String, _ environment: String) async throws {
        for (database, filter) in [
            ("public", #""fieldName":"title","comparator":"BEGINS_WITH","fieldValue":{"value":"Work"}"#),
            ("private", #""fieldName":"year","comparator":"EQUALS","fieldValue":{"value":1950}"#),
        ] {
            let query =
                #"{"query":{"recordType":"Artwork","filterBy":[{\#(filter)}],"sortBy":[{"fieldName":"title"}]},"resultsLimit":4}"#
            try await post("mei", "\(database)/records/query", query, of: container, in: environment)
        }
        try await post("mei", "public/users/current", "{}", of: container, in: environment)
        try await post("mei", "private/zones/list", "{}", of: container, in: environment)
    }

    private mutating func recordPrivateReads() async throws {
        let names = ["every", "plain", "deleted", "list", "item", "list-share", "none"].map {
            #"{"recordName":"\#($0)"}"#
        }
        try await post(
            "mei", "private/records/lookup", #"{"zoneID":\#(Self.zone),"records":[\#(names.joined(separator: ","))]}"#)
        try await post("mei", "public/records/lookup", #"{"records":[{"recordName":"photo"},{"recordName":"bob-0"}]}"#)
        try await post(
            "mei", "private/zones/lookup",
            #"{"zones":[\#(Self.zone),{"zoneName":"Gone"},{"zoneName":"None"}]}"#)
        try await recordChanges()
        try await post("mei", "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Gone"}}]}"#)
        for database in ["private", "public"] { try await post("mei", "\(database)/subscriptions/list", "{}") }
        for route in ["users/caller", "users/discover", "users/lookup/contacts"] {
            try await post("mei", "public/\(route)", "{}")
        }
        try await post("mei", "private/keys/account", "{}")
        // The dependents are gone, although the server was killed while it deleted them.
        try await post("bob", "private/records/query", #"{"query":{"recordType":"Dependent"}}"#)
    }

    private mutating func recordChanges() async throws {
        let zones = try await post("mei", "private/changes/database", #"{"resultsLimit":1}"#)
        let page = try await post(
            "mei", "private/changes/zone", #"{"zones":[{"zoneID":\#(Self.zone),"resultsLimit":2}]}"#)
        // In a database from a dump all tokens are expired.
        guard program.kind != .postgresql else { return }
        let token = try #require((page["zones"] as? [[String: Any]])?.first?["syncToken"] as? String)
        try await post(
            "mei", "private/changes/zone", #"{"zones":[{"zoneID":\#(Self.zone),"syncToken":"\#(token)"}]}"#)
        let next = try #require(zones["syncToken"] as? String)
        try await post("mei", "private/changes/database", #"{"syncToken":"\#(next)"}"#)
    }

    private mutating func recordSharedReads() async throws {
        for person in ["bob", "zoe"] {
            let zones = try await post(person, "shared/zones/list", "{}")
            try await post(person, "shared/changes/database", "{}")
            try await post(person, "shared/subscriptions/list", "{}")
            for zone in zones["zones"] as? [[String: Any]] ?? [] {
                let id = try JSONSerialization.data(withJSONObject: try #require(zone["zoneID"]), options: .sortedKeys)
                try await post(
                    person, "shared/changes/zone", #"{"zones":[{"zoneID":\#(String(decoding: id, as: UTF8.self))}]}"#)
            }
        }
        for guid in shareGUIDs() {
            try await post("zoe", "public/records/resolve", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
        }
    }

    private func shareGUIDs() -> [String] {
        let answers = requests.map(\.answer).joined()
        let guids = Set(answers.matches(of: /"shortGUID":"([^"]+)"/).map { String($0.1) })
        return guids.sorted()
    }

    private mutating func recordAdministration() async throws {
        let container = "/nephos/1/\(FixtureContent.container)"
        var paths = ["zones/list", "accounts/list", "shares/list", "roles/list"].map {
            ("POST", "\(container)/development/\($0)")
        }
        paths += ["development", "production"].map { ("GET", "\(container)/\($0)/schema/export") }
        if program.kind == .serve {
            paths += ["accounts/list", "containers/list", "api-tokens/list", "roles/list", "audit/verify"].map {
                ("POST", "/nephos/1/installation/\($0)")
            }
        }
        for (method, path) in paths {
            var request = RecordedRequest(method: method, path: path, body: method == "POST" ? "{}" : nil)
            request.isLocal = program.kind == .serve
            try await send(request)
        }
    }

    // MARK: Writes

    private mutating func recordWrites() async throws {
        let every = try await post(
            "mei", "private/records/lookup", #"{"zoneID":\#(Self.zone),"records":[{"recordName":"every"}]}"#)
        let record = try #require((every["records"] as? [[String: Any]])?.first)
        let tag = try #require(record["recordChangeTag"] as? String)
        let save =
            #"{"operationType":"update","record":{"recordName":"every","recordType":"Everything","recordChangeTag":""#
        let body =
            #"{"zoneID":\#(Self.zone),"nephosRequestKey":"fixture-1","operations":[\#(save)\#(tag)","fields":{"text":{"value":"saved"}}}}]}"#
        // The second time it is a repetition, and then a conflict.
        for body in [body, body, body.replacing("fixture-1", with: "fixture-2")] {
            try await post("mei", "private/records/modify", body, writes: true)
        }
        for guid in shareGUIDs() {
            try await post("zoe", "public/records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#, writes: true)
        }
        let zones = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Plain"}}}]}"#
        try await post("zoe", "private/zones/modify", zones, writes: true)
    }
}
