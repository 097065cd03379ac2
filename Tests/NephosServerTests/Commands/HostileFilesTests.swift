import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

/// Commands over files from an untrusted source.
@Suite struct HostileFilesTests {
    /// A directory with a store for each container.
    private func makeStores(_ directory: URL, _ containers: [String]) async throws {
        let service = NephosService(stores: try DataDirectory(path: directory.path))
        for container in containers {
            let context = RequestContext(
                container: container, environment: .development, scope: .private, account: "ann", requestID: "r")
            _ = try await service.modifyZones(
                ModifyZonesRequest(operations: [.init(operationType: .create, zoneID: .init(zoneName: "Z"))]), context)
        }
        await service.close()
    }

    @Test func `a damaged store prevents the whole backup from being restored`() async throws {
        try await withTemporaryDirectory { directory in
            let (backup, data) = (directory.appending(path: "backup"), directory.appending(path: "data"))
            try await makeStores(backup, ["iCloud.a", "iCloud.b"])
            try Data("garbage".utf8).write(to: backup.appending(path: "iCloud.b/development.sqlite"))
            // As root a restore makes no directory.
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            let refused = try await StartedNephos(["restore", "--data", data.path, backup.path]).finish()
            #expect(refused.status == 1 && refused.errors.contains("iCloud.b"), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: data.appending(path: "iCloud.a/development.sqlite").path))
        }
    }

    @Test func `a pipe in place of a store is refused without blocking`() async throws {
        try await withTemporaryDirectory { directory in
            try await makeStores(directory, ["iCloud.a"])
            let file = directory.appending(path: "iCloud.a/development.sqlite").path
            try FileManager.default.removeItem(atPath: file)
            #expect(mkfifo(file, 0o600) == 0)
            let refused = try await StartedNephos(["verify", "--data", directory.path]).finish()
            #expect(refused.status == 1 && (refused.output + refused.errors).contains("not a file"))
        }
    }

    @Test func `text of files and arguments is escaped for the terminal`() async throws {
        try await withTemporaryDirectory { directory in
            let escape = #"\u001b[31m"#
            let file = directory.appending(path: "export.jsonl")
            try Data(
                #"{"nephosExport":1,"container":"iCloud.\#(escape)","environment":"development","database":"private","account":"a"}\#n"#
                    .utf8
            ).write(to: file)
            for arguments in [
                ["import", file.path, "--data", directory.path],
                ["query", "No\u{1B}[31m\u{202E}", "--data", directory.path],
                ["\u{1B}[31m"],
            ] {
                let finished = try await StartedNephos(arguments).finish()
                #expect(finished.status != 0, "\(arguments)")
                let text = finished.output + finished.errors
                #expect(
                    !text.unicodeScalars.contains("\u{1B}") && !text.unicodeScalars.contains("\u{202E}"), "\(arguments)"
                )
            }
        }
    }
}
