import Foundation
import Glibc
import Testing

/// `nephos` as its users start it.
@Suite struct CommandLineTests {
    private static func run(_ arguments: String...) async throws -> Finished {
        try await StartedNephos(arguments).finish()
    }

    @Test(arguments: [["--help"], ["-h"], ["help"], ["dev", "--help"], ["dev", "--port", "x", "-h"]])
    func `help goes to standard output`(_ arguments: [String]) async throws {
        let finished = try await StartedNephos(arguments).finish()
        #expect(finished.status == 0)
        #expect(finished.output.contains("Usage: nephos"))
        #expect(finished.errors.isEmpty)
    }

    @Test func `the help of every command fits 90 columns, and its sentences end once`() async throws {
        let commands = try await Self.run("--help").output.matches(of: /\n  ([a-z][a-z-]*)  +[A-Z]/).map {
            String($0.1)
        }
        #expect(commands.count > 30)
        for command in commands.filter({ !["help", "version"].contains($0) }) + ["--help"] {
            let help = try await Self.run(command, "--help")
            #expect(help.status == 0, "\(command)")
            for line in help.output.split(separator: "\n") {
                #expect(line.count <= 90, "\(command): \(line)")
                #expect(!line.contains(/[^.]\.\.(\s|$)/), "\(command): \(line)")
            }
        }
    }

    @Test func `the version is one line`() async throws {
        let finished = try await Self.run("--version")
        #expect(finished.status == 0)
        #expect(finished.output.wholeMatch(of: /nephos \d+\.\d+\.\d+\n/) != nil)
    }

    @Test(arguments: [
        ([], "no command"), (["server"], "unknown command 'server'"), (["--port", "1"], "unknown command '--port'"),
        (["dev", "--prot", "1"], "unknown option '--prot'"), (["dev", "extra"], "unexpected argument 'extra'"),
        (["dev", "--port"], "'--port' needs a value"), (["dev", "--port="], "'--port' needs a value"),
        (["dev", "--port", "65536"], "'65536' is not a port"), (["dev", "--port=-1"], "'-1' is not a port"),
        (["dev", "--port", "1", "--port", "2"], "'--port' is given twice"),
        (["dev", "--in-memory=yes"], "'--in-memory' takes no value"),
        (["dev", "--in-memory", "--data", "x"], "exclude each other"),
        (["dev", "--synchronous", "off"], "'off' is unknown"), (["dev", "--listen", "0.0.0.0"], "--access-token-file"),
        (["dev", "--listen=192.168.1.5"], "--access-token-file"),
    ])
    func `invalid arguments exit with 2`(_ arguments: [String], _ message: String) async throws {
        let finished = try await StartedNephos(arguments).finish()
        #expect(finished.status == 2)
        #expect(finished.exited)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.hasPrefix("nephos: "))
        #expect(finished.errors.contains(message), "\(finished.errors)")
        #expect(finished.errors.split(separator: "\n").count == 1)
    }

    // MARK: - Running

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a signal stops the server in good order`(_ signal: Int32) async throws {
        let command = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await command.readyLine())
        let connection = try TestConnection(port: port)
        #expect(try await connection.request("GET", "/health").status == 200)
        let finished = try await command.stop(signal)
        #expect(finished.exited)
        #expect(finished.status == 0)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.isEmpty, "\(finished.errors)")
    }

    @Test func `the server stores its data in its working directory`() async throws {
        try await withTemporaryDirectory { directory in
            let path = "/database/1/iCloud.org.example.App/development/private/users/caller?ckWebAuthToken=dev:alice"
            var answers: Set<String> = []
            for _ in 1...2 {
                let command = try StartedNephos(["dev", "--port=0", "--synchronous=normal"], in: directory)
                let connection = try TestConnection(port: try readyPort(try await command.readyLine()))
                answers.insert(try await connection.request("GET", path).text)
                #expect(try await command.stop().status == 0)
            }
            #expect(answers.count == 1)
            #expect(answers.first?.contains("userRecordName") == true)
            let kept = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(kept == [".nephos"])
        }
    }

    @Test(arguments: [1, 2, 3, 8])
    func `a server with too few threads does not start, and says so`(threads: Int) async throws {
        try await withTemporaryDirectory { directory in
            let finished = try await StartedNephos(
                ["dev", "--in-memory", "--port", "0"], threads: threads, in: directory
            ).finish()
            #expect(finished.exited && finished.status == 1, "\(finished.errors)")
            #expect(finished.errors.contains("threads, and a server needs") && finished.errors.contains("ulimit -u"))
            #expect(finished.output == "")
        }
    }

    @Test func `a server that may open too few files does not start, and says so`() async throws {
        let nephos = try StartedNephos.url(ofProduct: "nephos").path
        let finished = try await StartedNephos(
            ["prlimit", "--nofile=255:255", nephos, "dev", "--in-memory", "--port", "0"], product: "/usr/bin/env"
        ).finish()
        #expect(finished.status == 1 && finished.output == "", "\(finished.errors)")
        #expect(finished.errors.contains("may open 255 files, and a server needs 256"), "\(finished.errors)")
        #expect(finished.errors.contains("ulimit -n") && finished.errors.contains("LimitNOFILE="))
    }

    @Test func `a server raises a low limit of open files as far as it may`() async throws {
        let nephos = try StartedNephos.url(ofProduct: "nephos").path
        let server = try StartedNephos(
            ["prlimit", "--nofile=64:1024", nephos, "dev", "--in-memory", "--port", "0"], product: "/usr/bin/env")
        _ = try readyPort(try await server.readyLine())
        let limits = try String(contentsOfFile: "/proc/\(server.process.processIdentifier)/limits", encoding: .utf8)
        #expect(limits.contains(/Max open files\s+1024\s+1024/), "\(limits)")
        #expect(try await server.stop().status == 0)
    }

    @Test(arguments: [["--version"], ["manual"], ["explain", "ZONE_NOT_FOUND"], ["completion"]])
    func `a command whose output cannot be written fails, and says so unless its reader has gone`(
        arguments: [String]
    ) async throws {
        let nephos = try StartedNephos.url(ofProduct: "nephos").path
        let full = try await StartedNephos(["-c", #""$0" "$@" > /dev/full"#, nephos] + arguments, product: "/bin/sh")
            .finish()
        #expect(full.status == 1, "\(arguments)")
        #expect(full.errors == "nephos: cannot write standard output: No space left on device\n")
        let gone = try await StartedNephos(
            ["-c", #"exec 3> >(:); wait $!; "$0" "$@" >&3"#, nephos] + arguments, product: "/bin/bash"
        ).finish()
        #expect(gone.status == 128 + SIGPIPE && gone.errors == "", "\(arguments): \(gone)")
    }

    @Test func `a data directory that is in use is refused`() async throws {
        try await withTemporaryDirectory { directory in
            let first = try StartedNephos(["dev", "--port", "0", "--data", directory.path])
            _ = try readyPort(try await first.readyLine())
            let second = try await Self.run("dev", "--port", "0", "--data", directory.path)
            #expect(second.status == 1)
            #expect(second.output.isEmpty)
            #expect(second.errors.contains("in use by process \(first.process.processIdentifier)"))
            #expect(try await first.stop().status == 0)
        }
    }

    @Test func `a file in place of a data directory is refused`() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("notes.txt")
            try Data("notes".utf8).write(to: file)
            for path in [file.path, file.path + "/below"] {
                let finished = try await Self.run("dev", "--port", "0", "--data", path)
                #expect(finished.status == 1 && finished.output.isEmpty)
                #expect(finished.errors == "nephos: \(file.path) is a file, not a directory.\n")
            }
            for command in [["schema", "export"], ["query", "Note"], ["zones", "list"]] {
                let finished = try await StartedNephos(command + ["--data", file.path]).finish()
                #expect(finished.status == 1 && finished.output.isEmpty)
                #expect(finished.errors == "nephos: \(file.path) is a file, not a directory.\n")
            }
            #expect(try Data(contentsOf: file) == Data("notes".utf8))
        }
    }

    @Test func `a data directory with a damaged file is refused`() async throws {
        try await withTemporaryDirectory { directory in
            let container = directory.appendingPathComponent("iCloud.org.example.App")
            try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
            let damaged = container.appendingPathComponent("development.sqlite")
            try Data(repeating: 0x5A, count: 8192).write(to: damaged)
            let finished = try await Self.run("dev", "--port", "0", "--data", directory.path)
            #expect(finished.status == 1)
            #expect(finished.output.isEmpty)
            #expect(finished.errors.contains(damaged.path), "\(finished.errors)")
            #expect(try Data(contentsOf: damaged) == Data(repeating: 0x5A, count: 8192))
        }
    }

    @Test func `a store that cannot be opened is named, and the others are served`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data")
            func post(_ port: UInt16, _ container: String) async throws -> Int {
                try await TestConnection(port: port).request(
                    "POST",
                    "/database/1/\(container)/development/private/zones/modify?ckAPIToken=any&ckWebAuthToken=dev:me",
                    body: #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
                ).status
            }
            let first = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            var port = try readyPort(try await first.readyLine())
            for container in ["iCloud.sound", "iCloud.damaged"] { #expect(try await post(port, container) == 200) }
            #expect(try await first.stop().status == 0)
            try Data(repeating: 0x5A, count: 8192).write(
                to: data.appendingPathComponent("iCloud.damaged/development.sqlite"))
            let second = try StartedNephos(["dev", "--port", "0", "--data", data.path])
            port = try readyPort(try await second.readyLine())
            #expect(try await post(port, "iCloud.sound") == 200)
            #expect(try await post(port, "iCloud.damaged") >= 500)
            let finished = try await second.stop()
            #expect(finished.errors.contains("the store of iCloud.damaged, development cannot be opened"))
        }
    }

    @Test func `a port that is in use is refused and no data is left`() async throws {
        try await withTemporaryDirectory { directory in
            let first = try StartedNephos(["dev", "--port", "0", "--in-memory"])
            let port = try readyPort(try await first.readyLine())
            let second = try await StartedNephos(["dev", "--port", "\(port)"], in: directory).finish()
            #expect(second.status == 1)
            #expect(second.errors.contains("port \(port) is in use"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
            #expect(try await first.stop().status == 0)
        }
    }

    @Test func `strict mode is passed to the service`() async throws {
        let body = (0..<201).map { #"{"operationType":"create","record":{"recordType":"T","recordName":"r\#($0)"}}"# }
        for (options, status) in [([], 200), (["--strict"], 400)] {
            let command = try StartedNephos(["dev", "--in-memory", "--port", "0"] + options)
            let connection = try TestConnection(port: try readyPort(try await command.readyLine()))
            let response = try await connection.request(
                "POST", "/database/1/iCloud.a/development/public/records/modify?ckWebAuthToken=dev:a",
                body: "{\"operations\":[\(body.joined(separator: ","))]}")
            #expect(response.status == status)
            #expect(try await command.stop().status == 0)
        }
    }
}
