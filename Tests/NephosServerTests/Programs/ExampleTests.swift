import Foundation
import Testing

/// The example program against the server that was just built, as its comment says to run it.
@Suite struct ExampleTests {
    @Test func `the countries are saved, queried, changed in conflict and deleted`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let example = try StartedNephos(
            [], product: "Countries", environment: ["NEPHOS_URL": "http://127.0.0.1:\(port)"])
        let finished = try await example.finish()
        #expect(finished.status == 0, "\(finished.errors)")
        let lines = finished.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 10, "\(finished.output)")
        #expect(
            lines[0].wholeMatch(of: /Saved 2\d\d countries, 5\d\d\d subdivisions and 3\d\d cities\./) != nil,
            "\(lines[0])")
        #expect(
            lines[1].wholeMatch(of: /Fetched 5\d\d\d subdivisions; 0 of them without their country as parent\./) != nil,
            "\(lines[1])")
        #expect(
            lines[2].wholeMatch(of: /Japan has 47 subdivisions, from Ai[^ ]* to Yama[^ ]*\./) != nil, "\(lines[2])")
        #expect(lines[3] == "Countries that begin with New: New Caledonia, New Zealand.")
        #expect(
            lines[4].hasPrefix("Countries called a democratic republic: ") && lines[4].contains("Congo")
                && lines[4].contains("Lao"), "\(lines[4])")
        #expect(
            lines[5].wholeMatch(
                of: /Cities within 100 km of Victoria Harbour: Hong Kong \(\d+ km\), Macau \(\d+ km\)\./)
                != nil, "\(lines[5])")
        for (line, code) in zip(lines[6...8], ["FR-IDF", "DE-BE", "JP-13"]) {
            #expect(line == "\(code): conflict resolved; visited: true, wished for: true.")
        }
        #expect(lines[9].wholeMatch(of: /Deleted FR: of its 1\d\d subdivisions 0 are left\./) != nil, "\(lines[9])")
        #expect(try await server.stop().status == 0)
    }
}
