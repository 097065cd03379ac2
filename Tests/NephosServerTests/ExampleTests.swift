import Foundation
import Testing

/// The example program against the server that was just built, as its comment says to run it.
@Suite struct ExampleTests {
    @Test func theCountriesAreSavedFoughtOverAndDeleted() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let example = try StartedNephos(
            [], product: "Countries", environment: ["NEPHOS_URL": "http://127.0.0.1:\(port)"])
        let finished = try await example.finish()
        #expect(finished.status == 0, "\(finished.errors)")
        let lines = finished.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 6, "\(finished.output)")
        #expect(lines[0].wholeMatch(of: /Saved 2\d\d countries and 5\d\d\d subdivisions\./) != nil, "\(lines[0])")
        #expect(
            lines[1].wholeMatch(of: /Fetched 5\d\d\d subdivisions; 0 of them without their country as parent\./) != nil,
            "\(lines[1])")
        for (line, code) in zip(lines[2...4], ["FR-IDF", "DE-BE", "JP-13"]) {
            #expect(line == "\(code): conflict resolved; visited by Alice: true, by Bob: true.")
        }
        #expect(lines[5].wholeMatch(of: /Deleted FR: of its 1\d\d subdivisions 0 are left\./) != nil, "\(lines[5])")
        #expect(try await server.stop().status == 0)
    }
}
