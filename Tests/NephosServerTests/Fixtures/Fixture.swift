import Foundation
import Testing

/// A store as a released build wrote it, with files of its clients: `Tests/Fixtures/RELEASE/KIND.tar.gz`.
/// `scripts/make-fixtures` makes them, and every later build opens them.
struct Fixture: Sendable, CustomTestStringConvertible {
    enum Kind: String, Codable, CaseIterable {
        /// A data directory of `nephos dev`, and one of `nephos serve`.
        case dev, serve
        /// A dump of the database of `nephos dev --storage`, and its directory of asset files.
        case postgresql
    }

    /// What is in `manifest.json`. A later build may add members, which are optional.
    struct Manifest: Codable {
        var kind: Kind
        /// When it was made, in milliseconds since 1970. Servers of tests have this time, because sessions, request keys
        /// and tombstones expire.
        var time: Int64
        var container: String
        /// The kinds of jobs that the kill left, sorted.
        var unfinishedJobs: [String]
        var clients: [FixtureClient]
        var requests: [RecordedRequest]
    }

    var archive: URL
    var testDescription: String {
        "\(archive.deletingLastPathComponent().lastPathComponent)/\(archive.lastPathComponent)"
    }

    /// The directory of all releases' fixtures.
    static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    /// The directory into which `scripts/make-fixtures` has the fixtures of this build made; nil in other test runs.
    static let target = ProcessInfo.processInfo.environment["NEPHOS_MAKE_FIXTURES"]

    /// The fixtures of these kinds, of every release.
    static func all(_ kinds: Kind...) -> [Fixture] {
        let releases = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return releases.sorted().flatMap { release in
            kinds.map { Fixture(archive: directory.appendingPathComponent("\(release)/\($0.rawValue).tar.gz")) }
        }.filter { FileManager.default.fileExists(atPath: $0.archive.path) }
    }

    /// Unpacks a copy.
    func unpack(in directory: URL) async throws -> Manifest {
        try await runTool("tar", "-xzf", archive.path, "-C", directory.path)
        let data = try Data(contentsOf: directory.appendingPathComponent("manifest.json"))
        return try JSONDecoder().decode(Manifest.self, from: data)
    }
}

/// Runs a program of the system to a successful end.
func runTool(_ arguments: String...) async throws {
    let finished = try await StartedNephos(arguments, product: "/usr/bin/env").finish()
    try #require(finished.exited && finished.status == 0, "\(arguments): \(finished.errors)")
}
