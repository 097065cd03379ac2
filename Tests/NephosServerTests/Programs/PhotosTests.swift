import Foundation
import Testing

/// The example that synchronises a folder: two processes of one account against the server that was just built.
@Suite struct PhotosTests {
    @Test(.timeLimit(.minutes(15))) func `a folder is synchronised between two processes`() async throws {
        try await withTemporaryDirectory { directory in
            let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            let (one, two) = (directory.appendingPathComponent("one"), directory.appendingPathComponent("two"))
            let programs = try [one, two].map { folder in
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return try TypedProgram(
                    "Photos", [folder.path],
                    environment: [
                        "NEPHOS_URL": "http://127.0.0.1:\(port)", "NEPHOS_TOKEN": "dev:ada",
                        "NEPHOS_CACHE": directory.appendingPathComponent("cache").path,
                    ])
            }
            func put(_ text: String, _ folder: URL, _ name: String) throws {
                try Data(text.utf8).write(to: folder.appendingPathComponent(name), options: .atomic)
            }
            func text(_ folder: URL, _ name: String) -> String? {
                try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            }
            for program in programs { try await program.waitFor("up to date") }

            // The first that has sent something has fetched nothing of the zone when its file is removed elsewhere.
            try put("sun", one, "a b.jpg")
            try await programs[1].waitFor("a b.jpg has come")
            #expect(text(two, "a b.jpg") == "sun")
            try FileManager.default.removeItem(at: two.appendingPathComponent("a b.jpg"))
            try await programs[0].waitFor("a b.jpg is gone")
            #expect(text(one, "a b.jpg") == nil)

            // Many at once, each removed where it arrived as soon as it is there, the next changed.
            for number in 0..<20 { try put("\(number)", one, "p\(number)") }
            for number in 0..<20 { try await programs[1].waitFor("p\(number) has come", inAnyOrder: true) }
            for number in 0..<20 {
                if number % 2 == 0 {
                    try FileManager.default.removeItem(at: two.appendingPathComponent("p\(number)"))
                } else {
                    try put("\(number) changed", two, "p\(number)")
                }
            }
            for number in 0..<20 {
                try await programs[0].waitFor(
                    "p\(number) \(number % 2 == 0 ? "is gone" : "has come")", inAnyOrder: true)
            }
            for folder in [one, two] {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                    !$0.hasPrefix(".")
                }
                #expect(Set(names) == Set((0..<20).filter { $0 % 2 == 1 }.map { "p\($0)" }))
                for name in names { #expect(text(folder, name) == "\(name.dropFirst()) changed") }
            }
            for program in programs { #expect(try await program.stop(SIGTERM).exited == false) }
            #expect(try await server.stop().status == 0)
        }
    }
}
