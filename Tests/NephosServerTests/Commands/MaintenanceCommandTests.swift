import Foundation
import Testing

@testable import NephosSQLite

/// `nephos verify`, `backup` and `restore` beside the server that was just built.
@Suite struct MaintenanceCommandTests {
    private func nephos(_ arguments: String...) async throws -> Finished {
        try await StartedNephos(arguments).finish()
    }

    /// As root a restore makes no directory.
    private func makeDirectory(_ url: URL) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    private func withServer(_ data: URL, _ body: (AssetClient) async throws -> Void) async throws {
        let server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
        let client = AssetClient(port: try readyPort(try await server.readyLine()))
        try await body(client)
        #expect(try await server.stop().status == 0)
    }

    private func save(_ content: String, _ record: String, _ client: AssetClient) async throws {
        let file = try await client.upload(content, to: try await client.uploadURL(record: record, field: "file"))
        _ = try await client.save(record, field: "file", file)
    }

    private func content(_ record: String, _ client: AssetClient) async throws -> String {
        let address = try #require(try await client.lookup(record, field: "file")["downloadURL"] as? String)
        return try await client.get(address).text
    }

    /// The files of the store's assets.
    private func files(_ data: URL) throws -> [URL] {
        let folder = data.appendingPathComponent("iCloud.test/development.assets/files")
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (found?.allObjects ?? []).compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath }
    }

    private func changes(_ token: String?, _ client: AssetClient) async throws -> [String: Any] {
        let since = token.map { #","syncToken":"\#($0)""# } ?? ""
        let answer = try await client.post("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}\#(since)}]}"#)
        return try #require((answer["zones"] as? [[String: Any]])?.first)
    }

    @Test func `a running server is backed up, and the restored one refuses later tokens`() async throws {
        try await withTemporaryDirectory { directory in
            let (data, copy, restored) = (
                directory.appendingPathComponent("data"), directory.appendingPathComponent("backup"),
                directory.appendingPathComponent("restored")
            )
            var (before, after): (String?, String?)
            var (early, late): ([String: Any], [String: Any]) = ([:], [:])
            try await withServer(data) { client in
                _ = try await client.post(
                    "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
                for number in 0..<5 { try await save("content \(number)", "r\(number)", client) }
                try await save("content 0", "again", client)
                before = try await changes(nil, client)["syncToken"] as? String
                let address = try await client.uploadURL(record: "early", field: "file")
                early = try await client.upload("early", to: address)
                let backup = try await nephos("backup", "--data", data.path, copy.path)
                #expect(backup.status == 0, "\(backup.errors)")
                #expect(backup.output == "iCloud.test, development: 8 records, 6 files with 50 bytes\n")
                try await save("later", "later", client)
                late = try await client.upload("late", to: try await client.uploadURL(record: "late", field: "file"))
                _ = try await client.post(
                    "records/modify",
                    #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"#
                        + #""recordName":"lost","recordType":"Note","fields":{}}}]}"#)
                after = try await changes(nil, client)["syncToken"] as? String
                let again = try await nephos("backup", "--data", data.path, copy.path)
                #expect(again.status == 1 && again.errors.contains("already. Nothing was changed"))
            }
            let verified = try await nephos("verify", "--data", copy.path)
            #expect(verified.status == 0 && verified.output.hasSuffix("8 records, 6 files with 50 bytes\n"))

            try makeDirectory(restored)
            let restore = try await nephos("restore", "--data", restored.path, copy.path)
            #expect(restore.status == 0, "\(restore.errors)")
            #expect(restore.output == "iCloud.test, development: 8 records, 6 files with 50 bytes\n")
            #expect(try await nephos("restore", "--data", restored.path, copy.path).status == 1)
            try await withServer(restored) { client in
                for number in 0..<5 { #expect(try await content("r\(number)", client) == "content \(number)") }
                #expect(try await content("again", client) == "content 0")
                let expired = try await changes(after, client)
                #expect(expired["serverErrorCode"] != nil, "\(expired)")
                #expect(expired["syncToken"] == nil)
                #expect(try await changes(before, client)["syncToken"] as? String == before)
                // A receipt of before is good; one of a file that the backup lacks is not.
                let saved = try await client.save("early", field: "file", early)
                #expect(saved["serverErrorCode"] == nil, "\(saved)")
                let earlyContent = try await content("early", client)
                #expect(earlyContent == "early")
                #expect(try await client.errorOfSaving("late", field: "file", late) != nil)
                try await save("later", "later", client)
            }
            #expect(try await nephos("verify", "--data", restored.path).status == 0)
        }
    }

    @Test func `damaged, missing and orphaned files are reported, and orphans are deleted by command only`()
        async throws
    {
        try await withTemporaryDirectory { data in
            try await withServer(data) { client in
                for number in 0..<3 { try await save("content \(number)", "r\(number)", client) }
                #expect(try await nephos("verify", "--data", data.path).status == 0)
                let refused = try await nephos("verify", "--data", data.path, "--remove-orphans")
                #expect(refused.status == 1 && refused.errors.contains("in use"))
            }
            let found = try files(data).sorted { $0.path < $1.path }
            #expect(found.count == 3)
            let orphan = found[0].deletingLastPathComponent().appendingPathComponent(
                found[0].lastPathComponent.prefix(64) + "-orphan")
            try FileManager.default.copyItem(at: found[0], to: orphan)
            // What is none of ours is passed over, and stays.
            let others = ["a.txt", "zz/hello world", "\(found[0].lastPathComponent.prefix(2))/zz"].map {
                data.appendingPathComponent("iCloud.test/development.assets/files/\($0)")
            }
            for other in others {
                try FileManager.default.createDirectory(
                    at: other.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data([1]).write(to: other)
            }
            var flipped = try Data(contentsOf: found[1])
            flipped[3] ^= 1
            try flipped.write(to: found[1])
            try FileManager.default.removeItem(at: found[2])

            let verified = try await nephos("verify", "--data", data.path)
            #expect(verified.status == 1)
            #expect(verified.output.contains("file \(found[1].lastPathComponent) has another content"))
            #expect(verified.output.contains("file \(found[2].lastPathComponent) is missing"))
            #expect(verified.output.contains("file \(orphan.lastPathComponent) has no row"))
            let backup = try await nephos("backup", "--data", data.path, data.appendingPathComponent(".copy").path)
            #expect(backup.status == 1 && backup.errors.contains("2 files are not in the backup"))
            #expect(
                backup.output == "iCloud.test, development: 5 records, 1 files with 9 bytes; 2 files are left out\n",
                "what is there is counted, and what is not")

            try await withServer(data) { _ in }
            #expect(FileManager.default.fileExists(atPath: orphan.path))
            let asked = try await nephos("verify", "--data", data.path, "--remove-orphans")
            #expect(asked.status == 2 && asked.errors.contains("this erases 1 file of iCloud.test, development"))
            #expect(FileManager.default.fileExists(atPath: orphan.path))
            let removed = try await nephos("verify", "--data", data.path, "--remove-orphans", "--yes")
            #expect(removed.output.hasSuffix("  1 file without a row\n  1 file deleted\n"), "\(removed.output)")
            #expect(!FileManager.default.fileExists(atPath: orphan.path))
            let nothing = try await nephos("verify", "--data", data.path, "--remove-orphans", "--yes")
            #expect(nothing.output.hasSuffix("  no file without a row, nothing is deleted\n"), "\(nothing.output)")
            for file in [found[0]] + others { #expect(FileManager.default.fileExists(atPath: file.path)) }
        }
    }

    @Test func `an older database has all its files beside newer ones, which are orphans`() async throws {
        try await withTemporaryDirectory { directory in
            let (data, copy) = (directory.appendingPathComponent("data"), directory.appendingPathComponent("backup"))
            try await withServer(data) { client in
                try await save("old", "old", client)
                #expect(try await nephos("backup", "--data", data.path, copy.path).status == 0)
                try await save("new", "new", client)
                _ = try await client.post(
                    "records/modify", #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"old"}}]}"#
                )
            }
            let database = "iCloud.test/development.sqlite"
            try FileManager.default.removeItem(at: data.appendingPathComponent(database))
            #expect(try await nephos("restore", "--data", data.path, copy.path).status == 0)
            try await withServer(data) { client in
                let old = try await content("old", client)
                #expect(old == "old")
            }
            let verified = try await nephos("verify", "--data", data.path)
            #expect(verified.status == 0 && verified.output.contains("1 file without a row"), "\(verified.output)")
        }
    }

    @Test func `a count of bytes that is not the sum of the files is reported`() async throws {
        try await withTemporaryDirectory { data in
            try await withServer(data) { client in try await save("content", "r", client) }
            let connection = try Connection(
                path: data.appendingPathComponent("iCloud.test/development.sqlite").path, access: .writing)
            try connection.execute("UPDATE asset_usage SET bytes = bytes + 1 WHERE bytes = 7")
            connection.close()
            let verified = try await nephos("verify", "--data", data.path)
            #expect(
                verified.status == 1 && verified.output.contains("has files of 7 bytes, and 8 are noted"), "\(verified)"
            )
        }
    }

    @Test func `invalid arguments change nothing`() async throws {
        try await withTemporaryDirectory { directory in
            let missing = directory.appendingPathComponent("missing").path
            for arguments in [
                ["verify", "--data", missing], ["backup", "--data", missing, directory.path],
                ["restore", "--data", missing, missing], ["verify", "--data", directory.path],
            ] {
                #expect(try await StartedNephos(arguments).finish().status == 1, "\(arguments)")
            }
            for arguments in [
                ["backup"], ["restore"], ["verify", "--s3-region", "x"], ["verify", "--asset-storage", "http://x"],
                ["verify", "--asset-storage", "s3://a/../b"], ["dev", "--in-memory", "--asset-storage", "s3://a"],
                ["dev", "--asset-storage", "s3://a", "--s3-endpoint", "ftp://x"],
            ] {
                let finished = try await StartedNephos(
                    arguments, environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
                ).finish()
                #expect(finished.status == 2, "\(arguments): \(finished.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test func `a directory whose files are in object storage is refused without the option, and with another place`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data")
            try await withServer(data) { client in try await save("content", "r", client) }
            let copy = directory.appendingPathComponent("copy").path
            #expect(try await nephos("backup", "--data", data.path, copy).status == 0)
            let note = data.appendingPathComponent(".asset-storage")
            try Data("s3://files/a\n".utf8).write(to: note)
            let other = ["--asset-storage", "s3://files/b", "--s3-endpoint", "http://127.0.0.1:1"]
            for command in [
                ["verify"], ["backup", copy + "2"], ["restore", copy], ["dev", "--port", "0"],
                ["serve", "--url", "http://127.0.0.1:8484", "--check"],
            ] {
                for options in [[], other] {
                    let finished = try await StartedNephos(
                        command + ["--data", data.path] + options,
                        environment: ["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]
                    ).finish()
                    let text = finished.output + finished.errors
                    #expect(finished.status == 1 && text.contains("are in s3://files/a, not in"), "\(command): \(text)")
                }
            }
            #expect(!FileManager.default.fileExists(atPath: copy + "2"))
            try FileManager.default.removeItem(at: note)
            #expect(try await nephos("verify", "--data", data.path).status == 0)
        }
    }

    @Test func `a directory that servers over PostgreSQL have for their files is refused without the database`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let (data, copy) = (directory.appendingPathComponent("data"), directory.appendingPathComponent("copy"))
            try await withServer(data) { client in try await save("content", "r", client) }
            #expect(try await nephos("backup", "--data", data.path, copy.path).status == 0)
            let mark = data.appendingPathComponent("assets.id")
            try Data("1\n".utf8).write(to: mark)
            let (url, another) = ("http://127.0.0.1:8484", directory.appendingPathComponent("another").path)
            for arguments in [
                ["verify"], ["verify", "--remove-orphans", "--yes"], ["backup", another], ["restore", copy.path],
                ["api-tokens", "revoke", "T"], ["containers", "list"],
                ["accounts", "create", "--no-password", "a@b.c"],
                ["accounts", "adopt", "--yes"], ["query", "Note"], ["schema", "export"], ["dev", "--port", "0"],
                ["serve", "--url", url, "--listen", "127.0.0.1:0"], ["serve", "--url", url, "--check"],
            ] {
                let finished = try await StartedNephos(arguments + ["--data", data.path]).finish()
                #expect(finished.status == 1, "\(arguments)")
                #expect(
                    finished.errors.contains("the file assets.id in it says so"), "\(arguments): \(finished.errors)")
            }
            let moved = try await nephos(
                "migrate", "--from", data.path, "--to", "postgresql://nobody@/none?host=\(directory.path)")
            #expect(moved.status == 1 && moved.errors.contains("with '--container ID'"), "\(moved.errors)")
            #expect(!FileManager.default.fileExists(atPath: another))
            #expect(try FileManager.default.contentsOfDirectory(atPath: data.path).contains("nephos") == false)
            try FileManager.default.removeItem(at: mark)
            let verified = try await nephos("verify", "--data", data.path)
            #expect(verified.status == 0 && !verified.output.contains("without a row"), "\(verified.output)")
        }
    }

    @Test func `an interrupted copy is refused as data and as a backup, and a restore goes on`() async throws {
        try await withTemporaryDirectory { directory in
            func file(_ name: String) -> URL { directory.appendingPathComponent(name) }
            try await withServer(file("data")) { client in try await save("content", "r", client) }
            try FileManager.default.copyItem(at: file("data/iCloud.test"), to: file("data/iCloud.zebra"))
            // A file in the place of the second container's folder.
            for target in ["copy", "restored"] {
                try FileManager.default.createDirectory(at: file(target), withIntermediateDirectories: true)
                try Data().write(to: file("\(target)/iCloud.zebra"))
            }
            func refusal(_ arguments: String...) async throws -> String {
                let finished = try await StartedNephos(arguments).finish()
                #expect(finished.status == 1, "\(arguments)")
                return finished.errors
            }
            let (data, copy, whole, restored) = (
                file("data").path, file("copy").path, file("whole").path, file("restored").path
            )
            _ = try await refusal("backup", "--data", data, copy)
            try makeDirectory(file("new"))
            for arguments in [["restore", "--data", file("new").path, copy], ["backup", "--data", data, copy]] {
                let finished = try await StartedNephos(arguments).finish()
                #expect(finished.status == 1 && finished.errors.contains("interrupted"), "\(finished.errors)")
            }
            #expect(try await nephos("backup", "--data", data, whole).status == 0)
            _ = try await refusal("restore", "--data", restored, whole)
            for arguments in [["dev", "--port", "0"], ["verify"], ["query", "Note"], ["backup", file("b").path]] {
                let finished = try await StartedNephos(arguments + ["--data", restored]).finish()
                #expect(finished.status == 1 && finished.errors.contains("interrupted"), "\(finished.errors)")
            }
            try FileManager.default.removeItem(at: file("restored/iCloud.zebra"))
            let elsewhere = try await refusal("restore", "--data", restored, data)
            #expect(elsewhere.contains("of \(whole) alone") && elsewhere.contains("put back what was moved from there"))
            let rest = try await nephos("restore", "--data", restored, whole)
            #expect(rest.status == 0 && rest.output.hasPrefix("iCloud.zebra, development: "))
            #expect(rest.output.split(separator: "\n").count == 1, "\(rest.output)")
            #expect(try await nephos("verify", "--data", restored).status == 0)
            try await withServer(file("restored")) { client in
                let text = try await content("r", client)
                #expect(text == "content")
            }
        }
    }

    @Test func `a backup without a listed store fails, and has the others`() async throws {
        try await withTemporaryDirectory { data in
            try await withServer(data) { client in try await save("content", "r", client) }
            try "iCloud.lost production\niCloud.test development\n".write(
                toFile: data.appendingPathComponent(".stores").path, atomically: false, encoding: .utf8)
            let copy = data.appendingPathComponent(".copy")
            let backup = try await nephos("backup", "--data", data.path, copy.path)
            #expect(backup.status == 1 && backup.errors.contains("iCloud.lost, production: missing"))
            #expect(backup.errors.contains("1 store is not in the backup"))
            #expect(try await nephos("verify", "--data", copy.path).status == 0)
            for arguments in [
                ["verify", "--container", "iCloud.lost"], ["backup", "--container", "iCloud.lost", copy.path + "3"],
                ["migrate", "--from", data.path, "--to", "postgresql://nobody@127.0.0.1:1/x"],
            ] {
                let place = arguments[0] == "migrate" ? [] : ["--data", data.path]
                let refused = try await StartedNephos(arguments + place).finish()
                #expect(refused.status == 1, "\(refused)")
                #expect((refused.output + refused.errors).contains("iCloud.lost, production: missing"), "\(refused)")
            }
            let chosen = try await nephos(
                "backup", "--data", data.path, "--container", "iCloud.test", copy.path + "2")
            #expect(chosen.status == 0)
        }
    }

    @Test func `a damaged store is named, and the others are verified and copied`() async throws {
        try await withTemporaryDirectory { directory in
            let (data, copy) = (directory.appendingPathComponent("data"), directory.appendingPathComponent("copy"))
            try await withServer(data) { client in try await save("content", "r", client) }
            // The whole of it, but for the header that says what it is.
            let container = data.appendingPathComponent("iCloud.test")
            var bytes = try Data(contentsOf: container.appendingPathComponent("development.sqlite"))
            for offset in 100..<bytes.count { bytes[offset] = UInt8(truncatingIfNeeded: offset &* 31) }
            let damaged = data.appendingPathComponent("iCloud.damaged")
            try FileManager.default.createDirectory(at: damaged, withIntermediateDirectories: true)
            try bytes.write(to: damaged.appendingPathComponent("development.sqlite"))

            let verified = try await nephos("verify", "--data", data.path)
            #expect(
                verified.status == 1 && verified.output.contains("iCloud.damaged, development: "), "\(verified.errors)")
            #expect(verified.output.contains(/iCloud.test, development: \d+ records, 1 files/), "\(verified.output)")
            let backup = try await nephos("backup", "--data", data.path, copy.path)
            #expect(backup.status == 1 && backup.errors.contains("iCloud.damaged, development: damaged: "))
            #expect(backup.errors.contains("1 store is not in the backup"), "\(backup.errors)")
            #expect(backup.output.contains(/^iCloud.test, development: \d+ records, 1 files/), "\(backup.output)")
            let missing = copy.appendingPathComponent("iCloud.damaged/development.sqlite").path
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }
}
