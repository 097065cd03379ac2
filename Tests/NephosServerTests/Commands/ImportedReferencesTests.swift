import Foundation
import Testing

/// Imports whose records refer to others of the same file.
@Suite struct ImportedReferencesTests {
    private static let header =
        #"{"nephosExport":1,"container":"iCloud.org.example.App","environment":"development","database":"private","#
        + #""account":"me"}"#

    private static func line(_ name: String, _ fields: String, parent: String? = nil) -> String {
        let parent = parent.map { #","parent":{"recordName":"\#($0)"}"# } ?? ""
        return #"{"operations":[{"operationType":"forceReplace","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{\#(fields)}\#(parent)}}]}"#
    }

    private static func reference(_ name: String, _ action: String) -> String {
        #"{"value":{"recordName":"\#(name)","action":"\#(action)"},"type":"REFERENCE"}"#
    }

    private static func name(_ number: Int) -> String { "r" + String(number + 10_000) }

    private func imported(
        _ lines: [String], _ directory: URL, options: [String] = [],
        _ body: (Finished, [String]) async throws -> Void
    ) async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let place = ["--url", "http://127.0.0.1:\(try readyPort(try await server.readyLine()))"]
        let file = directory.appendingPathComponent("file")
        try Data(([Self.header] + lines).joined(separator: "\n").utf8).write(to: file)
        let finished = try await StartedNephos(
            ["import", file.path] + options + place, environment: ["TMPDIR": directory.path]
        ).finish()
        try await body(finished, place)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        #expect(try await server.stop().status == 0)
    }

    private func exported(_ place: [String]) async throws -> [String] {
        let finished = try await StartedNephos(
            ["export", "--container", "iCloud.org.example.App", "--account", "me"] + place
        ).finish()
        #expect(finished.status == 0, "\(finished.errors)")
        return finished.output.split(separator: "\n").map(String.init)
    }

    /// Each record needs one that a request after its own has, and in the end the first again.
    @Test func `a cycle of more records than a request holds is imported, and exported unchanged`() async throws {
        try await withTemporaryDirectory { directory in
            let count = 650
            let lines = (0..<count).map { number in
                Self.line(
                    Self.name(number),
                    #""next":\#(Self.reference(Self.name((number + 1) % count), "DELETE_SELF")),"#
                        + #""text":{"value":"\#(number)","type":"STRING"}"#)
            }
            try await imported(lines, directory) { finished, place in
                #expect(finished.status == 0 && finished.errors == "nephos: 650 records imported\n", "\(finished)")
                let again = try await exported(place)
                #expect(again == [Self.header] + lines)
            }
        }
    }

    @Test func `a chain of parents in the wrong order is imported`() async throws {
        try await withTemporaryDirectory { directory in
            let count = 850
            let lines = (0..<count).map { number in
                Self.line(Self.name(number), "", parent: number + 1 < count ? Self.name(number + 1) : nil)
            }.map { $0.replacingOccurrences(of: #""fields":{},"#, with: "") }
                .map { $0.replacingOccurrences(of: #","fields":{}}"#, with: "}") }
            try await imported(lines, directory) { finished, place in
                #expect(finished.status == 0, "\(finished.errors)")
                let again = try await exported(place)
                #expect(again == [Self.header] + lines)
            }
        }
    }

    @Test func `a missing record is named with its referrer, and no record is saved partially`() async throws {
        try await withTemporaryDirectory { directory in
            let lines = [
                Self.line("a", #""to":\#(Self.reference("b", "VALIDATE")),"soft":\#(Self.reference("none", "NONE"))"#),
                Self.line("b", #""to":\#(Self.reference("gone", "DELETE_SELF"))"#),
                Self.line("c", #""text":{"value":"c"}"#),
            ]
            try await imported(lines, directory) { finished, place in
                #expect(finished.status == 1)
                #expect(finished.errors.contains(":3: record 'b' refers to 'gone', which is in none of the lines"))
                #expect(finished.errors.contains("--skip-orphans"))
                #expect(finished.errors.contains("1 records are imported"), "\(finished.errors)")
                let saved = try await exported(place)
                #expect(saved.count == 2 && saved[1].contains(#""recordName":"c""#), "\(saved)")
            }
        }
    }

    /// "b" needs a missing record, "a" needs "b", and "0" needs "a": a chain that breaks at its end.
    @Test func `orphans and the records that need them are left out where that is wanted`() async throws {
        try await withTemporaryDirectory { directory in
            let lines = [
                Self.line("0", "", parent: "a"),
                Self.line("a", #""to":\#(Self.reference("b", "VALIDATE"))"#),
                Self.line("b", #""to":\#(Self.reference("gone", "DELETE_SELF"))"#),
                Self.line("c", #""to":\#(Self.reference("d", "DELETE_SELF"))"#),
                Self.line("d", #""soft":\#(Self.reference("gone", "NONE"))"#),
            ]
            try await imported(lines, directory, options: ["--skip-orphans"]) { finished, place in
                #expect(finished.status == 0, "\(finished.errors)")
                #expect(
                    finished.errors.contains(
                        "3 records are left out, as they refer to records that are missing: b (line 4), a (line 3), 0 (line 2)"
                    ),
                    "\(finished.errors)")
                let saved = try await exported(place)
                #expect(saved.count == 3 && saved[1].contains(#""recordName":"c""#), "\(saved)")
            }
        }
    }
}
