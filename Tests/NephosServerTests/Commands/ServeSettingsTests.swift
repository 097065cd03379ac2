import Foundation
import Testing

@testable import NephosServer

/// The settings of `nephos serve`: options, variables, and the configuration file.
@Suite struct ServeSettingsTests {
    /// Runs `nephos serve --check` with a configuration file.
    private func check(
        _ file: String, _ options: [String] = [], environment: [String: String] = [:], mode: Int = 0o600
    ) async throws -> Finished {
        try await check(Array(file.utf8), options, environment: environment, mode: mode)
    }

    private func check(
        _ file: [UInt8], _ options: [String] = [], environment: [String: String] = [:], mode: Int = 0o600
    ) async throws -> Finished {
        var finished: Finished?
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("nephos.conf")
            try Data(file).write(to: path)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path.path)
            let data = directory.appendingPathComponent("data")
            try FileManager.default.createDirectory(
                at: data, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            finished = try await StartedNephos(
                ["serve", "--check", "--config", path.path, "--data", data.path] + options, environment: environment
            ).finish()
            #expect(try FileManager.default.contentsOfDirectory(atPath: data.path).isEmpty)
        }
        return try #require(finished)
    }

    private func expectRefused(
        _ file: String, _ words: String, environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let finished = try await check(file, environment: environment)
        #expect(finished.status == 2, sourceLocation: sourceLocation)
        #expect(finished.errors.contains(words), "\(finished.errors)", sourceLocation: sourceLocation)
    }

    @Test func `an option overrides the variable, and the variable the file`() async throws {
        let file = "\u{FEFF}url = http://127.0.0.1:1\nlisten = 127.0.0.1:2\n# a comment\n\n  drain=3s\r\nlog = json\n"
        let variables = ["NEPHOS_SERVE_LISTEN": "127.0.0.1:4", "NEPHOS_SERVE_DRAIN": "5s", "NEPHOS_SERVE_STRICT": ""]
        let finished = try await check(file, ["--drain", "6s"], environment: variables)
        #expect(finished.status == 0, "\(finished.errors)")
        for line in [
            "  url = http://127.0.0.1:1 (", "nephos.conf, line 1)\n",
            "  listen = 127.0.0.1:4 (NEPHOS_SERVE_LISTEN)\n", "  drain = 6s (option)\n", "  log = json (",
            "nephos.conf, line 6)\n", "  synchronous = full (default)\n",
        ] { #expect(finished.output.contains(line), "\(line) in \(finished.output)") }
        #expect(!finished.output.contains("strict"))
    }

    @Test func `the listener of the metrics is checked`() async throws {
        let finished = try await check("url = http://127.0.0.1:1\nmetrics-listen = 127.0.0.1:9464\n")
        #expect(finished.status == 0 && finished.output.contains("who reaches 127.0.0.1:9464 reads the metrics"))
        try await expectRefused(
            "url = http://127.0.0.1:1\nmetrics-listen = metrics.example.org\n", "'--metrics-listen': ")
    }

    @Test(arguments: ["127.0.0.1:99999", "127.0.0.1", "127.0.0.1:-1", ":-1", "x", "1.2.3:80", "[::1:80", "localhost:1"])
    func `an address that is none is refused with its source`(_ address: String) async throws {
        for name in ["listen", "metrics-listen"] {
            let refused = try await check("url = http://127.0.0.1:1\n\(name) = \(address)\n")
            #expect(refused.status == 2 && refused.errors.contains("'--\(name)': '"), "\(refused.errors)")
            #expect(refused.errors.contains("nephos.conf, line 2"), "\(refused.errors)")
        }
    }

    @Test(arguments: [
        (["--socket", "/none/at/all"], "no socket can be made at /none/at/all: No such file"),
        (["--socket", "/tmp"], "/tmp exists and is not a socket"),
        (["--socket", "/etc/passwd"], "/etc/passwd exists and is not a socket"),
        (["--listen", "203.0.113.1:1", "--insecure"], "this machine does not have the address 203.0.113.1"),
        (["--metrics-listen", "203.0.113.1:1"], "this machine does not have the address 203.0.113.1"),
    ])
    func `the check fails where a start does`(_ options: [String], _ words: String) async throws {
        let finished = try await check("url = http://127.0.0.1:1\n", options)
        #expect(finished.status == 1 && finished.errors.contains(words), "\(finished)")
    }

    @Test func `the two listeners have different addresses`() async throws {
        for (listen, metrics, status) in [
            ("127.0.0.1:9", "127.0.0.1:9", 2), ("0.0.0.0:9", "127.0.0.1:9", 2), ("127.0.0.1:9", "0.0.0.0:9", 2),
            ("127.0.0.1:9", "127.0.0.2:9", 0), ("127.0.0.1:9", "127.0.0.1:10", 0), ("127.0.0.1:0", "127.0.0.1:0", 0),
        ] as [(String, String, Int32)] {
            let file = "url = http://127.0.0.1:1\ninsecure = true\nlisten = \(listen)\nmetrics-listen = \(metrics)\n"
            let finished = try await check(file)
            #expect(finished.status == status, "\(listen), \(metrics): \(finished)")
            #expect(finished.errors.contains("need different ports") == (status == 2), "\(finished.errors)")
        }
    }

    @Test func `a setting without a value is true or false, and false overrides true`() async throws {
        let file = "url = http://a.example.org\ninsecure = true\nstrict = true\n"
        let finished = try await check(file, environment: ["NEPHOS_SERVE_STRICT": "false"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(finished.output.contains("  strict = false (NEPHOS_SERVE_STRICT)\n"), "\(finished.output)")
        #expect(finished.output.contains("  insecure = true ("))
        try await expectRefused("url = http://127.0.0.1:1\nstrict = yes\n", "line 2: 'strict' is true or false")
    }

    @Test func `a repeatable setting has several lines, or words of a variable`() async throws {
        let file = "url = http://127.0.0.1:1\ntrust-proxy = 10.0.0.1\ntrust-proxy = 10.0.0.2\n"
        let lines = try await check(file).output
        #expect(lines.contains("trust-proxy = 10.0.0.1 (") && lines.contains("trust-proxy = 10.0.0.2 ("))
        let words = try await check(file, environment: ["NEPHOS_SERVE_TRUST_PROXY": "10.0.0.3 10.0.0.4"]).output
        #expect(words.contains("= 10.0.0.3 (NEPHOS") && words.contains("= 10.0.0.4 (NEPHOS"))
        #expect(!words.contains("10.0.0.1"))
    }

    @Test(arguments: [
        ("tls_cert = a\n", "line 1: there is no setting 'tls_cert'. Did you mean 'tls-cert'?"),
        ("\nlisten\n", "line 2: 'listen' has no value: write listen = ADDRESS"),
        (
            "mail-pasword hidden\n",
            "line 1: there is no setting 'mail-pasword'. Did you mean 'mail-password-file'? A line is NAME = VALUE."
        ),
        ("listen =  \n", "line 1: 'listen' has no value"), ("= a\n", "line 1: there is no setting ''"),
        ("drain = 1s\nlisten = a\ndrain = 1s\n", "line 3: 'drain' is given twice, first in "),
        ("log = a\0b\n", "line 1: the value of 'log' holds a control character"),
        ("check = true\n", "there is no setting 'check'"),
        ("url = http://127.0.0.1:1\n\ndrain = 3x\n", "('--drain' is from "),
        ("url = http://127.0.0.1:1\ntls-cert = none.pem\ntls-key = none.pem\n", "line 2"),
        (String(repeating: "#", count: 64 * 1024 + 1), "is larger than 64 KB"),
    ])
    func `a line that is wrong is named`(_ file: String, _ words: String) async throws {
        try await expectRefused(file, words)
    }

    @Test func `a variable that is wrong is named`() async throws {
        let file = "url = http://127.0.0.1:1\n"
        try await expectRefused(
            file, "NEPHOS_SERVE_TLSCERT is no setting. Did you mean 'NEPHOS_SERVE_TLS_CERT'?",
            environment: ["NEPHOS_SERVE_TLSCERT": "a"])
        try await expectRefused(file, "is from NEPHOS_SERVE_DRAIN", environment: ["NEPHOS_SERVE_DRAIN": "3x"])
        try await expectRefused(file, "NEPHOS_SERVE_STRICT: 'strict' is", environment: ["NEPHOS_SERVE_STRICT": "1"])
    }

    @Test func `a file that is no text, no file, missing, or that others may change is refused`() async throws {
        let text = try await check([0x75, 0x72, 0x6C, 0x20, 0x3D, 0xFF])
        #expect(text.status == 2 && text.errors.contains("line 1: the line is not valid UTF-8"), "\(text.errors)")
        let shared = try await check("url = http://127.0.0.1:1\n", mode: 0o620)
        #expect(shared.status == 2 && shared.errors.contains("other users may change"), "\(shared.errors)")
        for (path, words) in [("/", "is not a file"), ("/dev/null", "is not a file"), ("/none/at.all", "No such file")]
        {
            let finished = try await StartedNephos(["serve", "--config", path]).finish()
            #expect(finished.status == 2 && finished.errors.contains(words), "\(finished.errors)")
        }
    }

    @Test(arguments: [(0o777, true), (0o775, true), (0o1777, false), (0o755, false)])
    func `a file that others may replace is refused`(_ mode: Int, _ isRefused: Bool) async throws {
        try await withTemporaryDirectory { directory in
            func make(_ folder: String) throws -> String {
                let folder = directory.appendingPathComponent(folder)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let file = folder.appendingPathComponent("nephos.conf").path
                try Data("url = http://127.0.0.1:1\ndata = /none/at/all\n".utf8).write(to: URL(filePath: file))
                #expect(chmod(file, 0o600) == 0)
                return file
            }
            func link(_ name: String, to destination: String) throws -> String {
                let link = directory.appendingPathComponent(name).path
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: destination)
                return link
            }
            let (file, below, safe) = (try make("conf"), try make("conf/below"), try make("safe"))
            let paths = [
                file, below, try link("link", to: file), try link("conf/link", to: safe),
                try link("folder", to: "conf/below") + "/nephos.conf",
                try link("conf/folder", to: "../safe") + "/nephos.conf",
                directory.appendingPathComponent("safe/../conf/nephos.conf").path,
            ]
            #expect(chmod(directory.appendingPathComponent("conf").path, mode_t(mode)) == 0)
            for path in paths {
                let finished = try await StartedNephos(["serve", "--check", "--config", path]).finish()
                #expect(finished.status == (isRefused ? 2 : 1), "\(path): \(finished)")
                #expect(finished.errors.contains("other users may replace") == isRefused, "\(finished.errors)")
            }
            let other = try await StartedNephos(["serve", "--check", "--config", safe]).finish()
            #expect(other.status == 1, "\(other)")
        }
    }

    @Test func `the check prints no secret of a URL`() async throws {
        let finished = try await check(
            "url = http://127.0.0.1:1\n", ["--web-hook", "https://ada:word@example.org/path/T0KEN?key=K3Y"])
        #expect(finished.output.contains("web-hook = https://ada:…@example.org/…?… (option)"), "\(finished.output)")
        let storage = try await check("url = http://127.0.0.1:1\nstorage = postgresql://ada:word@127.0.0.1/x\n")
        #expect(storage.status == 2 && storage.errors.contains("holds a password"), "\(storage.errors)")
        #expect(!"\(finished) \(storage)".contains("word@"))
        for url in ["https://ada:word@example.org", "ada:word@example.org", "http://127.example.org"] {
            let refused = try await check("url = \(url)\n")
            #expect(refused.status == 2 && refused.errors.contains("example.org'"), "\(refused.errors)")
            #expect(!refused.errors.contains("word@"))
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func `root checks a configuration file that is the server's user's`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let (data, file) = (directory.appendingPathComponent("data"), directory.appendingPathComponent("conf"))
            try FileManager.default.createDirectory(
                at: data, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            try Data("url = http://127.0.0.1:1\ndata = \(data.path)\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
            func check(_ fileOwner: uid_t, _ dataOwner: uid_t) async throws -> Finished {
                #expect(chown(file.path, fileOwner, fileOwner) == 0 && chown(data.path, dataOwner, dataOwner) == 0)
                return try await StartedNephos(["serve", "--check", "--config", file.path]).finish()
            }
            let (user, other): (uid_t, uid_t) = (65_534, 1)
            let own = try await check(user, user)
            #expect(own.status == 0 && own.output.contains("checked as the user"), "\(own)")
            for (fileOwner, dataOwner) in [(other, user), (user, 0)] {
                let refused = try await check(fileOwner, dataOwner)
                #expect(refused.status == 2 && refused.errors.contains("other users may change"), "\(refused)")
            }
        }
    }

    @Test func `the page of the settings, and the example, have every setting`() async throws {
        let table = try await StartedNephos(["manual", "--settings"]).finish().output
        let example = try await StartedNephos(["manual", "--example"]).finish().output
        let help = try await StartedNephos(["serve", "--help"]).finish().output
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("Documentation/Configuration.md"), encoding: .utf8)
        #expect(
            page.contains("<!-- settings: nephos manual --settings -->\n\n\(table)\n<!-- /settings -->"),
            "Documentation/Configuration.md is to have the output of 'nephos manual --settings'")
        let options = help.matches(of: /(?m)^ {2}--([a-z0-9-]+)/).map { String($0.1) }
        #expect(options.count > 30)
        for name in options where !["config", "check", "help"].contains(name) {
            #expect(table.contains("\n| `\(name)`"), "\(name)")
            #expect(example.contains("\n#\(name) = "), "\(name)")
        }
        // Every setting of the example is a comment.
        #expect(example.split(separator: "\n").allSatisfy { $0.hasPrefix("#") })
    }

    @Test func `the check names an expired certificate, a store of another version, and a missing directory`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("expired.pem")
            try Data(Self.expired.utf8).write(to: file)
            let expired = try await check(
                "url = https://localhost\n", ["--tls-cert", file.path, "--tls-key", file.path])
            #expect(expired.status == 1 && expired.errors.contains("expired on 2020-02-01"), "\(expired)")
        }
        let late = try await TestCertificate(days: 3)
        let soon = try await check(
            "url = https://localhost\n", ["--tls-cert", late.certificateFile, "--tls-key", late.keyFile])
        #expect(soon.status == 0 && soon.output.contains("expires soon"), "\(soon)")
        let good = try await TestCertificate("DNS:*.example.org")
        let pair = ["--tls-cert", good.certificateFile, "--tls-key", good.keyFile]
        let sound = try await check("url = https://a.example.org\n", pair)
        #expect(sound.output.contains("is valid until") && !sound.output.contains("may read the secret"))
        chmod(good.keyFile, 0o644)
        let readable = try await check("url = https://a.example.org\n", pair)
        // The directory of temporary files may be this user's alone.
        let directories = sequence(first: URL(fileURLWithPath: good.keyFile).deletingLastPathComponent()) {
            $0.path == "/" ? nil : $0.deletingLastPathComponent()
        }
        let isReached = directories.allSatisfy { directory in
            let attributes = try? FileManager.default.attributesOfItem(atPath: directory.path)
            return (attributes?[.posixPermissions] as? Int).map { $0 & 1 == 1 } ?? false
        }
        #expect(
            readable.output.contains("may read the secret in \(good.keyFile): chmod o-r") == isReached, "\(readable)")
        chmod(URL(fileURLWithPath: good.keyFile).deletingLastPathComponent().path, 0o700)
        #expect(try await !check("url = https://a.example.org\n", pair).output.contains("may read the secret"))
        #expect(try await check("url = https://a.b.example.org\n", pair).output.contains("is not for a.b.example.org"))
        let missing = try await StartedNephos(
            [
                "serve", "--check", "--url", "http://127.0.0.1:1", "--data", "/none/at/all", "--metrics-listen",
                "203.0.113.1:1",
            ]
        ).finish()
        #expect(missing.status == 1 && missing.output.contains("there is no directory /none/at/all"), "\(missing)")
        #expect(missing.errors.contains("the first of 2 reasons"), "\(missing)")
    }

    @Test func `the check runs beside the server, and refuses other data`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            let arguments = ["serve", "--check", "--url", "http://127.0.0.1:1", "--data", served.data]
            try await served.start()
            let running = try await StartedNephos(arguments).finish()
            #expect(running.status == 0 && running.output.contains("a server runs with these data"), "\(running)")
            try await served.stop()
            let before = try FileManager.default.subpathsOfDirectory(atPath: served.data).sorted()
            let stopped = try await StartedNephos(arguments).finish()
            #expect(stopped.status == 0 && stopped.output.contains("1 stores of a production"), "\(stopped)")
            #expect(try FileManager.default.subpathsOfDirectory(atPath: served.data).sorted() == before)
            let path = try #require(before.first { $0.hasSuffix(".sqlite") })
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(served.data)/\(path)"))
            try file.seek(toOffset: 60)
            try file.write(contentsOf: [0, 0, 0x7F, 0xFF])
            try file.close()
            let newer = try await StartedNephos(arguments).finish()
            #expect(newer.status == 1 && newer.output.contains("FAILED"), "\(newer)")
        }
    }

    /// A certificate for localhost that expired, and its key, which nothing else uses.
    private static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBLjCB1aADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
        dDAeFw0yMDAxMDEwMDAwMDBaFw0yMDAyMDEwMDAwMDBaMBQxEjAQBgNVBAMMCWxv
        Y2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIZVKB6JyPjJ8AYPMoY5
        b1fa+NmV7f9L2Yw4RmlW1g2fguPM5BMoeTErD07favBN0YXpiM5GrBwJ20xQfGMo
        fbGjGDAWMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAKBggqhkjOPQQDAgNIADBFAiEA
        sVwz+s9fNb6XRzfk9K50U7EBZEfUFvIjw5xVm68Gr3kCIByN8zO5bpzwGocxcOqz
        uJ54AkvGfDKvv3xfTBl5ZPor
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbgArwsYlte0fOi1D
        5H0ipWx+0nTtQHAZPL5CTnXQWyWhRANCAASGVSgeicj4yfAGDzKGOW9X2vjZle3/
        S9mMOEZpVtYNn4LjzOQTKHkxKw9O32rwTdGF6YjORqwcCdtMUHxjKH2x
        -----END PRIVATE KEY-----

        """
}
