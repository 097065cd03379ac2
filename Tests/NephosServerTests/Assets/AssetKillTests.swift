import Foundation
import Glibc
import NephosSQLite
import NephosStorage
import Testing

/// Kills of a server while files are uploaded, saved and read: no acknowledged file is lost, and no orphan stays.
@Suite struct AssetKillTests {
    @Test func `kills during uploads and saves leave every acknowledged file, and no other`() async throws {
        try await withTemporaryDirectory { data in
            var saved: [String: String] = [:]
            for round in 0..<12 {
                let server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
                let port = try readyPort(try await server.readyLine())
                let id = server.process.processIdentifier
                let limit = 1 + round * 5 % 23
                let answers = Answers(limit) { kill(id, SIGKILL) }
                await withTaskGroup(of: Void.self) { group in
                    for lane in 0..<4 {
                        group.addTask { await Self.work("\(round)-\(lane)", AssetClient(port: port), answers) }
                    }
                }
                saved.merge(answers.saved) { $1 }
                #expect(try await server.finish().exited == false)
            }
            #expect(saved.count >= 12)
            let server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            let client = AssetClient(port: try readyPort(try await server.readyLine()))
            for (record, content) in saved {
                let address = try #require(try await client.lookup(record, field: "file")["downloadURL"] as? String)
                #expect(try await client.get(address).text == content)
            }
            #expect(try await server.stop().status == 0)
            let verified = try await StartedNephos(["verify", "--data", data.path]).finish()
            #expect(verified.status == 0 && !verified.output.contains("no row"), "\(verified.output)")
            let uploads = data.appendingPathComponent("iCloud.test/development.assets/uploads").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: uploads) == [])
        }
    }

    private static func work(_ lane: String, _ client: AssetClient, _ answers: Answers) async {
        do {
            for number in 0..<100 {
                let record = "r\(lane)-\(number)"
                let content = String(repeating: record, count: 1 + number * 997)
                let url = try await client.uploadURL(record: record, field: "file")
                answers.count()
                let file = try await client.uploadOrThrow(content, to: url)
                answers.count()
                guard try await client.saveOrThrow(record, field: "file", file) else { return }
                answers.note(record, content)
            }
        } catch {
            // The server is gone.
        }
    }

    /// The acknowledged requests; notifies after a number of answers.
    private final class Answers: @unchecked Sendable {
        // `@unchecked`: everything is used under the lock.
        private let lock = NSLock()
        private var left: Int
        private let kill: () -> Void
        private var contents: [String: String] = [:]

        init(_ limit: Int, _ kill: @escaping () -> Void) {
            left = limit
            self.kill = kill
        }

        var saved: [String: String] { lock.withLock { contents } }

        func note(_ record: String, _ content: String) {
            lock.withLock { contents[record] = content }
            count()
        }

        func count() {
            lock.withLock {
                left -= 1
                if left == 0 { kill() }
            }
        }
    }

    @Test func `kills during collection leave every referenced file, and in the end no other`() async throws {
        try await withTemporaryDirectory { data in
            let folder = data.appendingPathComponent("iCloud.test/development.assets/files")
            /// How many files there are, once there are no more than so many.
            @Sendable func count(atMost limit: Int) async throws -> Int {
                try await offThePool {
                    while true {
                        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
                        let count = (found?.allObjects ?? []).count { ($0 as? URL)?.hasDirectoryPath == false }
                        if count <= limit { return count }
                    }
                }
            }
            var server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            var client = AssetClient(port: try readyPort(try await server.readyLine()))
            let (kept, unneeded) = (20, 120)
            for number in 0..<kept + unneeded {
                let url = try await client.uploadURL(record: "r\(number)", field: "file")
                let file = try await client.upload("content \(number)", to: url)
                if number < kept { _ = try await client.save("r\(number)", field: "file", file) }
            }
            #expect(try await server.stop().status == 0)
            try await Self.endRetention(data)
            for left in [unneeded, unneeded - 1, unneeded / 2, unneeded / 3, 10, 1] {
                server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
                client = AssetClient(port: try readyPort(try await server.readyLine()))
                // A store that is used collects what is due.
                _ = try await client.lookup("r0", field: "file")
                _ = try await count(atMost: kept + left)
                #expect(try await server.stop(SIGKILL).exited == false)
            }
            server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            client = AssetClient(port: try readyPort(try await server.readyLine()))
            for number in 0..<kept {
                let field = try await client.lookup("r\(number)", field: "file")
                let address = try #require(field["downloadURL"] as? String)
                #expect(try await client.get(address).text == "content \(number)")
            }
            #expect(try await count(atMost: kept) == kept)
            #expect(try await server.stop().status == 0)
            let verified = try await StartedNephos(["verify", "--data", data.path]).finish()
            #expect(verified.status == 0 && !verified.output.contains("no row"), "\(verified.output)")
            #expect(verified.output.contains(" \(kept) files"), "\(verified.output)")
        }
    }

    /// Lets a week go by for the files that no record has.
    private static func endRetention(_ data: URL) async throws {
        let directory = try DataDirectory(path: data.path)
        defer { directory.close() }
        let engine = try directory.open(StoreID(container: "iCloud.test", environment: "development"))
        try await engine.write { transaction in
            for asset in try transaction.assets(afterFile: "", limit: .max) where asset.neededUntil < .max / 2 {
                try transaction.removeAssetReference(
                    asset.content, zone: ZoneKey(owner: asset.owner, id: 0), record: "", neededUntil: 1)
            }
        }
        await engine.close()
    }

    @Test func `a connection cut at every tenth of a file leaves nothing, and the retry is whole`() async throws {
        try await withTemporaryDirectory { data in
            let server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            let client = AssetClient(port: try readyPort(try await server.readyLine()))
            let content = String(repeating: "0123456789", count: 60_000)
            let uploads = data.appendingPathComponent("iCloud.test/development.assets/uploads").path
            for tenth in 0..<10 {
                let url = try await client.uploadURL(record: "r\(tenth)", field: "file")
                let path = url.replacingOccurrences(of: "http://127.0.0.1:\(client.port)", with: "")
                let connection = try TestConnection(port: client.port)
                try await connection.send(
                    "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(content.utf8.count)\r\n\r\n"
                        + content.prefix(content.count / 10 * tenth))
                connection.abandon()
                let file = try await client.upload(content, to: url)
                _ = try await client.save("r\(tenth)", field: "file", file)
            }
            #expect(try await server.stop().status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: uploads) == [])
            let verified = try await StartedNephos(["verify", "--data", data.path]).finish()
            #expect(verified.output == "iCloud.test, development: 12 records, 1 files with 600000 bytes\n")
        }
    }
}

extension AssetClient {
    struct Refused: Error {}

    fileprivate func uploadOrThrow(_ content: String, to url: String) async throws -> [String: Any] {
        let answer = try await request("POST", url, body: content)
        guard answer.status == 200,
            let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any],
            let file = object["singleFile"] as? [String: Any]
        else { throw Refused() }
        return file
    }

    fileprivate func saveOrThrow(_ record: String, field: String, _ file: [String: Any]) async throws -> Bool {
        try await errorOfSaving(record, field: field, file) == nil
    }
}
