import Foundation
import Testing

/// The files of assets in `nephos export` and `nephos import`.
@Suite struct ExportedFilesTests {
    private static func nephos(_ arguments: [String]) async throws -> Finished {
        try await StartedNephos(arguments).finish()
    }

    private static func started(_ options: String...) async throws -> (server: StartedNephos, client: AssetClient) {
        let server = try StartedNephos(["dev", "--port", "0"] + options)
        return (server, AssetClient(port: try readyPort(try await server.readyLine())))
    }

    private static func place(_ client: AssetClient) -> [String] {
        ["--url", "http://127.0.0.1:\(client.port)"]
    }

    private static func export(_ place: [String], _ folder: URL) async throws -> String {
        let finished = try await nephos(
            ["export", "--container", "iCloud.test", "--account", "me", "--assets", folder.path] + place)
        #expect(finished.status == 0, "\(finished.errors)")
        return finished.output
    }

    /// A file of the record 'list', as JSON.
    private static func upload(_ content: String, _ field: String, _ client: AssetClient) async throws -> String {
        let value = try await client.upload(content, to: try await client.uploadURL(record: "list", field: field))
        return String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
    }

    /// Records with a file, the same file, a list of files, and none.
    private static func fill(_ client: AssetClient) async throws {
        for record in ["a", "b"] {
            let file = try await client.upload(
                large, to: try await client.uploadURL(record: record, field: "file"))
            _ = try await client.save(record, field: "file", file)
        }
        let list = [
            try await upload("first", "files", client), try await upload("", "files", client),
            try await upload("first", "files", client),
        ].joined(separator: ",")
        let answer = try await client.post(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"list","recordType":"Note","fields":{"#
                + #""file":{"value":\#(try await upload("own", "file", client))},"#
                + #""files":{"value":[\#(list)]},"text":{"value":"x"}}}},"#
                + #"{"operationType":"create","record":{"recordName":"plain","recordType":"Note","fields":{}}}]}"#)
        #expect("\(answer)".contains("serverErrorCode") == false, "\(answer)")
    }

    private static let large = String(repeating: "0123456789abcdef", count: 50_000)

    private static func files(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `files are exported, imported and exported again, byte for byte`() async throws {
        try await withTemporaryDirectory { directory in
            let (data, one, two, three) = (
                directory.appendingPathComponent("data"), directory.appendingPathComponent("one"),
                directory.appendingPathComponent("two"), directory.appendingPathComponent("three")
            )
            let (first, client) = try await Self.started("--data", data.path)
            try await Self.fill(client)
            let text = try await Self.export(Self.place(client), one)
            let names = try Self.files(one)
            #expect(names.count == 4 && names.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{64}/) != nil }, "\(names)")
            #expect(
                Set(try names.map { try String(contentsOf: one.appendingPathComponent($0), encoding: .utf8) }) == [
                    Self.large, "first", "", "own",
                ])
            // The same again, into the same directory, and of the data of a server that does not run.
            #expect(try await Self.export(Self.place(client), one) == text)
            #expect(try await first.stop().status == 0)
            #expect(try await Self.export(["--data", data.path], two) == text)
            #expect(try Self.files(two) == names)

            let file = directory.appendingPathComponent("export").path
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let (second, other) = try await Self.started("--in-memory")
            for _ in 1...2 {
                let imported = try await Self.nephos(["import", "--assets", one.path, file] + Self.place(other))
                #expect(imported.status == 0 && imported.errors.hasSuffix("4 records imported\n"), "\(imported.errors)")
            }
            #expect(try await Self.export(Self.place(other), three) == text)
            #expect(try Self.files(three) == names)
            #expect(try await second.stop().status == 0)

            let (third, again) = try await Self.started("--in-memory", "--import", file, "--import-assets", one.path)
            #expect(try await Self.export(Self.place(again), three) == text)
            let address = try #require(try await again.lookup("b", field: "file")["downloadURL"] as? String)
            let content = try await again.get(address).text
            #expect(content == Self.large)
            #expect(try await third.stop().status == 0)
        }
    }

    @Test func `without a directory files are omitted from an export, and counted`() async throws {
        let (server, client) = try await Self.started("--in-memory")
        try await Self.fill(client)
        let finished = try await Self.nephos(
            ["export", "--container", "iCloud.test", "--account", "me"] + Self.place(client))
        #expect(finished.status == 0 && !finished.output.contains("fileChecksum"))
        #expect(finished.errors.contains("6 files of assets are not exported: '--assets DIRECTORY' takes them."))
        #expect(try await server.stop().status == 0)
    }

    @Test func `a lost file omits its field and is named, and the status is 1`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data")
            let (server, client) = try await Self.started("--data", data.path)
            try await Self.fill(client)
            let folder = data.appendingPathComponent("iCloud.test/development.assets/files")
            let stored = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            for case let file as URL in try #require(stored) where !file.hasDirectoryPath {
                guard var content = try? Data(contentsOf: file), content.count == Self.large.count else { continue }
                content[7] ^= 1
                try content.write(to: file)
            }
            let finished = try await Self.nephos(
                ["export", "--container", "iCloud.test", "--account", "me", "--assets"]
                    + [directory.appendingPathComponent("files").path] + Self.place(client))
            #expect(finished.status == 1 && finished.output.split(separator: "\n").count == 5)
            #expect(finished.errors.contains("the file of field 'file' of record 'a' in zone '_defaultZone' is not"))
            #expect(finished.errors.contains("2 files are not in the export"), "\(finished.errors)")
            #expect(try Self.files(directory.appendingPathComponent("files")).count == 3)
            #expect(try await server.stop().status == 0)
        }
    }

    private enum Change: CaseIterable {
        case none, gone, shorter, flipped, otherName
    }

    @Test func `a directory without the exported files is refused at the record's line`() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appendingPathComponent("files")
            let (server, client) = try await Self.started("--in-memory")
            let file = try await client.upload("content", to: try await client.uploadURL(record: "a", field: "file"))
            _ = try await client.save("a", field: "file", file)
            let text = try await Self.export(Self.place(client), folder)
            let name = try #require(try Self.files(folder).first)
            let path = folder.appendingPathComponent(name)
            let export = directory.appendingPathComponent("export")
            for change in Change.allCases {
                var (text, message, options) = (text, "", ["--assets", folder.path])
                try Data("content".utf8).write(to: path)
                switch change {
                case .none: (options, message) = ([], "has files of assets: give '--assets DIRECTORY'")
                case .gone:
                    try FileManager.default.removeItem(at: path)
                    message = "cannot read \(path.path): No such file"
                case .shorter:
                    try Data("conten".utf8).write(to: path)
                    message = "is no file of 7 bytes"
                case .flipped:
                    try Data("Content".utf8).write(to: path)
                    message = "its content is another"
                case .otherName:
                    text = text.replacingOccurrences(of: name, with: "../../etc/passwd")
                    message = "nephosContent is not the name of a file's content"
                }
                try Data(text.utf8).write(to: export)
                let finished = try await Self.nephos(
                    ["import", "--account", "tom"] + options + [export.path] + Self.place(client))
                #expect(finished.status == 1 && finished.errors.contains("\(export.path):2: record 'a'"), "\(change)")
                #expect(finished.errors.contains(message), "\(finished.errors)")
            }
            for options in [["--assets", "/none/of/it"], ["--assets", export.path]] {
                let finished = try await Self.nephos(["import"] + options + [export.path] + Self.place(client))
                #expect(finished.status == 1 && finished.errors.contains(options[1]), "\(finished.errors)")
            }
            #expect(try await server.stop().status == 0)
        }
    }
}
