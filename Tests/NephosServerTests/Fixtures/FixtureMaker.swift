import Foundation
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import Testing

@testable import CloudKit

/// Makes the fixtures of this build; `scripts/make-fixtures` runs it.
@Suite(.enabled(if: Fixture.target != nil, "scripts/make-fixtures runs it"), .oneAtATime)
struct FixtureMaker {
    @Test(arguments: Fixture.Kind.allCases) func `a fixture is made`(_ kind: Fixture.Kind) async throws {
        let target = try #require(Fixture.target)
        try await withTemporaryDirectory { scratch in
            let place = scratch.appendingPathComponent("fixture")
            let program = try FixtureProgram(kind, in: place)
            try await program.start()
            try await program.prepare()
            let content = content(program, scratch)
            try await content.fill()
            let clients = try await makeClients(program, place)
            try await program.stop()
            try await export(program, place)
            try await program.start()
            try await leaveUnfinishedWork(content, program)
            try await copyUnfinished(program, place, scratch)
            let manifest = try await manifest(program, clients, place, scratch)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(manifest).write(to: place.appendingPathComponent("manifest.json"))
            try await runTool(
                "env", "GZIP=-9", "tar", "-czf", "\(target)/\(kind.rawValue).tar.gz", "--owner=0", "--group=0", "-C",
                place.path, ".")
        }
    }

    private func content(_ program: FixtureProgram, _ scratch: URL) -> FixtureContent {
        FixtureContent(
            device: { try await program.device($0, $1, $2) }, administer: { try await program.administer($0, $1) },
            post: { try await program.post($0, $1, $2) }, upload: { try await program.upload($0, $1) },
            address: { program.address($0) }, scratch: scratch)
    }

    // MARK: Clients

    private func makeClients(_ program: FixtureProgram, _ place: URL) async throws -> [FixtureClient] {
        let container = FixtureContent.container
        let bob = try await program.device("bob", container, .development)
        let shared = try await bob.sharedCloudDatabase.allRecordZones()
        let hierarchy = try #require(shared.first { $0.zoneID.zoneName == FixtureContent.zoneID.zoneName })
        var clients: [FixtureClient] = []
        for (name, owner, archived) in [("mei", nil, "plain"), ("bob", hierarchy.zoneID.ownerName, "item")] {
            var client = FixtureClient(
                name: name, token: try await program.token(name, container), apiToken: program.apiToken(container),
                container: container, zone: FixtureContent.zoneID.zoneName, zoneOwner: owner, secrets: [:], changed: [],
                changedZones: [], pending: [], archived: archived)
            for record in [archived, "list", "item"] { client.secrets[record] = "the secret of \(record)" }
            try await client.makeFiles(try client.database(program.url, files: place), in: place)
            clients.append(client)
        }
        for index in clients.indices {
            try await clients[index].finishFiles(try clients[index].database(program.url, files: place), in: place)
        }
        return clients
    }

    // MARK: Unfinished work

    private func leaveUnfinishedWork(_ content: FixtureContent, _ program: FixtureProgram) async throws {
        try await program.assignRole()
        try await content.fillForUnfinishedWork()
        // A stopped server leaves no write-ahead log, which would make the fixture large.
        try await program.stop()
        try await program.start()
        try await content.beginUnfinishedWork()
        try await program.kill()
    }

    private func unfinishedJobs(_ data: URL, _ kind: Fixture.Kind) async throws -> [String] {
        guard kind != .postgresql else { return [] }
        let id = StoreID(container: FixtureContent.container, environment: "development")
        let snapshot = try StoredDirectory(path: data.path).snapshot(id)
        return try await snapshot.read { try $0.jobs(limit: 100).map(\.kind).sorted() }
    }

    /// Makes the backup or the dump: the backup of a copy, because reading a store may change its files.
    private func copyUnfinished(_ program: FixtureProgram, _ place: URL, _ scratch: URL) async throws {
        if let database = program.database {
            let dump = place.appendingPathComponent("dump.sql").path
            try await database.run("pg_dump", "--no-owner", "--no-privileges", "-f", dump)
            // psql of earlier minor versions does not know `\restrict`.
            return try await runTool("sed", "-i", "-E", #"/^\\(un)?restrict /d"#, dump)
        }
        let copy = scratch.appendingPathComponent("copied")
        try FileManager.default.copyItem(at: program.data, to: copy)
        let backup = place.appendingPathComponent("backup").path
        let finished = try await StartedNephos(["backup", "--data", copy.path, backup]).finish()
        try #require(finished.status == 0, "\(finished.errors)")
    }

    /// Exports a container, while no server has the data directory.
    private func export(_ program: FixtureProgram, _ place: URL) async throws {
        guard program.database == nil else { return }
        let finished = try await StartedNephos([
            "export", "--all", "--container", FixtureContent.container, "--environment", "development", "--data",
            program.data.path, "--output",
            place.appendingPathComponent("export.jsonl").path, "--assets",
            place.appendingPathComponent("exported").path,
        ]).finish()
        try #require(finished.status == 0, "\(finished.errors)")
    }

    // MARK: Requests

    private func manifest(
        _ program: FixtureProgram, _ clients: [FixtureClient], _ place: URL, _ scratch: URL
    ) async throws -> Fixture.Manifest {
        let looked = scratch.appendingPathComponent("looked")
        try FileManager.default.copyItem(at: program.data, to: looked)
        let jobs = try await unfinishedJobs(looked, program.kind)
        #expect(program.kind == .postgresql || !jobs.isEmpty, "the work was finished before the kill")
        let data = scratch.appendingPathComponent("recorded")
        try FileManager.default.copyItem(at: program.data, to: data)
        var manifest = Fixture.Manifest(
            kind: program.kind, time: Int64(Date().timeIntervalSince1970 * 1000), container: FixtureContent.container,
            unfinishedJobs: jobs, clients: clients, requests: [])
        let server = try await FixtureServer(
            program.kind, data: data, database: try program.database?.address, time: manifest.time)
        var recorder = FixtureRecorder(server: server, program: program)
        try await recorder.record()
        manifest.requests = recorder.requests
        await server.close()
        return manifest
    }
}
