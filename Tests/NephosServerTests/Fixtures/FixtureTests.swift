import Foundation
import NephosPostgresTesting
import NephosStorage
import Testing

/// What every release wrote: this build opens it, finishes its work, and answers as the release did.
@Suite struct FixtureTests {
    @Test func `there is a fixture of each kind`() {
        for kind in Fixture.Kind.allCases { #expect(!Fixture.all(kind).isEmpty, "\(kind)") }
    }

    @Test(arguments: Fixture.all(.dev, .serve))
    func `a release's data directory is opened, and answers as it did`(_ fixture: Fixture) async throws {
        try await withTemporaryDirectory { directory in
            let manifest = try await fixture.unpack(in: directory)
            let data = directory.appendingPathComponent("data")
            try await expectAnswers(manifest, data)
            try await expectVerified(["--data", data.path])
        }
    }

    @Test(arguments: Fixture.all(.dev, .serve))
    func `the devices of a release go on with their keys, archives and tokens`(_ fixture: Fixture) async throws {
        try await withTemporaryDirectory { directory in
            let manifest = try await fixture.unpack(in: directory)
            let data = directory.appendingPathComponent("data")
            try await expectContinuity(manifest, data, files: directory)
            try await expectVerified(["--data", data.path])
        }
    }

    @Test(arguments: Fixture.all(.dev, .serve))
    func `a release's backup is restored, and answers as it did`(_ fixture: Fixture) async throws {
        try await withTemporaryDirectory { directory in
            let manifest = try await fixture.unpack(in: directory)
            let (backup, data) = (directory.appendingPathComponent("backup"), directory.appendingPathComponent("new"))
            try await expectVerified(["--data", backup.path])
            // As root a restore makes no directory.
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            let restore = try await StartedNephos(["restore", "--data", data.path, backup.path]).finish()
            #expect(restore.status == 0, "\(restore.errors)")
            // A restore ends the sessions of a production server.
            if manifest.kind != .serve { try await expectAnswers(manifest, data) }
        }
    }

    @Test(arguments: Fixture.all(.dev))
    func `a release's export is imported, and exported again as the same lines`(_ fixture: Fixture) async throws {
        try await withTemporaryDirectory { directory in
            let manifest = try await fixture.unpack(in: directory)
            let lines = directory.appendingPathComponent("export.jsonl")
            let again = directory.appendingPathComponent("again.jsonl")
            let data = ["--data", directory.appendingPathComponent("imported").path]
            let files = directory.appendingPathComponent("exported").path
            let server = try StartedNephos(
                ["dev", "--port", "0", "--import", lines.path, "--import-assets", files] + data)
            _ = try readyPort(try await server.readyLine())
            #expect(try await server.stop().status == 0)
            let exported = try await StartedNephos(
                [
                    "export", "--all", "--container", manifest.container, "--environment", "development", "--output",
                    again.path,
                ] + ["--assets", files] + data
            ).finish()
            #expect(exported.status == 0, "\(exported.errors)")
            let (old, new) = (try Self.lines(lines), try Self.lines(again))
            #expect(old.count == new.count && old.count > 10)
            for (old, new) in zip(old, new) { #expect(RecordedRequest.difference(old, new, at: "line") == nil) }
        }
    }

    @Test(.overPostgreSQL, .oneAtATime, arguments: Fixture.all(.postgresql))
    func `a release's dump is loaded, and answers as it did`(_ fixture: Fixture) async throws {
        try await withTemporaryDirectory { directory in
            let manifest = try await fixture.unpack(in: directory)
            let data = directory.appendingPathComponent("data")
            for isForDevices in [false, true] {
                let database = try FixtureDatabase.make()
                try await database.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", "\(directory.path)/dump.sql")
                if isForDevices {
                    try await expectContinuity(manifest, data, database, files: directory)
                } else {
                    try await expectAnswers(manifest, data, database)
                }
                try await expectVerified(database.options + ["--data", data.path])
            }
        }
    }

    /// The lines of an export, without the names of encrypted values, which an export leaves out.
    private static func lines(_ file: URL) throws -> [Any] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let text = line.replacing(#/,"nephosKeep":\[[^\]]*\]/#, with: "")
            return try JSONSerialization.jsonObject(with: Data(text.utf8))
        }
    }

    /// Replays the recorded requests.
    private func expectAnswers(
        _ manifest: Fixture.Manifest, _ data: URL, _ database: FixtureDatabase? = nil
    ) async throws {
        let server = try await FixtureServer(
            manifest.kind, data: data, database: try database?.address, time: manifest.time)
        #expect(manifest.requests.count > 30)
        for request in manifest.requests {
            let answer = await server.send(request)
            #expect(answer.status == request.status, "\(request.path): \(answer.text)")
            let difference = request.difference(from: answer.text, url: server.url)
            #expect(difference == nil, "\(request.path) \(request.body ?? "")")
        }
        await server.close()
    }

    /// Has the devices go on with their files.
    private func expectContinuity(
        _ manifest: Fixture.Manifest, _ data: URL, _ database: FixtureDatabase? = nil, files: URL
    ) async throws {
        let server = try await FixtureServer(
            manifest.kind, data: data, database: try database?.address, time: manifest.time)
        for client in manifest.clients {
            try await client.expectContinuity(server.url, files: files, tokensExpire: manifest.kind == .postgresql)
        }
        await server.close()
    }

    private func expectVerified(_ options: [String]) async throws {
        let verified = try await StartedNephos(["verify"] + options).finish()
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }
}
