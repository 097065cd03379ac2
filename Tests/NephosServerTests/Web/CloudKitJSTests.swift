import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// The forms of CloudKit JS, as they are served, and the script against the server.
@Suite struct CloudKitJSTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let paths = [
        "/ck/1/cloudkit.js", "/ck/2/cloudkit.js", "/ck/2/cloudkit.mjs", "/ck/2/cloudkit.d.ts", "/ck/2/cloudkit.d.mts",
        "/ck/2/sharesheet.js",
    ]
    /// The limits of a form, in bytes as served and compressed.
    private static let (sizeLimit, compressedLimit) = (64 * 1024, 16 * 1024)

    private func withServer(_ body: (TestConnection, UInt16) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(try TestConnection(port: server.port), server.port))
        } catch {
            result = .failure(error)
        }
        service.endPolls()
        await server.stop()
        await service.close()
        try result.get()
    }

    @Test func `each form is served to pages of every origin, with its type, and nothing else is`() async throws {
        try await withServer { connection, _ in
            for path in Self.paths {
                for origin in [nil, "http://localhost:3000", "https://app.example.org", "null"] {
                    let response = try await connection.request(
                        "GET", path, headers: origin.map { ["Origin": $0] } ?? [:])
                    #expect(response.status == 200, "\(path)")
                    #expect(response.headers["access-control-allow-origin"] == "*")
                    #expect(response.headers["cross-origin-resource-policy"] == "cross-origin")
                    let type = path.hasSuffix("ts") ? "plain" : "javascript"
                    #expect(response.headers["content-type"] == "text/\(type); charset=utf-8", "\(path)")
                }
            }
            for path in ["/ck", "/ck/2", "/ck/2/none.js", "/ck/3/cloudkit.js", "/ck/2/cloudkit.js/more"] {
                #expect(try await connection.request("GET", path).status == 404, "\(path)")
            }
        }
    }

    @Test func `the forms are small, and compressed for clients that take it`() async throws {
        try await withServer { connection, _ in
            for path in Self.paths {
                let plain = try await connection.request("GET", path)
                #expect(plain.headers["content-encoding"] == nil)
                #expect(plain.body.count <= Self.sizeLimit, "\(path): \(plain.body.count)")
                for accepted in ["gzip", "br, gzip;q=0.5"] {
                    let small = try await connection.request("GET", path, headers: ["Accept-Encoding": accepted])
                    #expect(small.headers["content-encoding"] == "gzip")
                    #expect(small.headers["vary"] == "Accept-Encoding")
                    #expect(small.body.count <= Self.compressedLimit, "\(path): \(small.body.count)")
                    let inflated = try GzipBody.inflate(small.body, limit: Self.sizeLimit)
                    #expect(inflated == plain.body)
                    #expect(small.headers["etag"] != plain.headers["etag"])
                }
                for refused in ["br", "gzip;q=0", "gzip;q=0.0, br"] {
                    let whole = try await connection.request("GET", path, headers: ["Accept-Encoding": refused])
                    #expect(whole.body == plain.body, "\(refused)")
                }
            }
        }
    }

    @Test func `a form is sent again only after it changed`() async throws {
        try await withServer { connection, _ in
            for path in Self.paths {
                let first = try await connection.request("GET", path)
                let tag = try #require(first.headers["etag"])
                #expect(first.headers["cache-control"] == "no-cache")
                let second = try await connection.request("GET", path, headers: ["If-None-Match": tag])
                #expect(second.status == 304 && second.body.isEmpty && second.headers["etag"] == tag)
            }
        }
    }

    @Test func `an address of the integrity list has the bytes of its hash, and they never change`() async throws {
        struct Version: Decodable {
            var url: String
            var integrity: String
        }
        try await withServer { connection, port in
            let list = try await connection.request("GET", "/ck/2/integrity.json")
            let versions = try JSONDecoder().decode([String: Version].self, from: Data(list.body))
            #expect(Set(versions.keys.map { "/ck/" + $0 }) == Set(Self.paths))
            #expect(Set(versions.values.map(\.url)).count == versions.count)
            for (name, version) in versions {
                let base = try #require(version.url.range(of: "/ck/"))
                let pinned = try await connection.request("GET", String(version.url[base.lowerBound...]))
                #expect(pinned.status == 200 && pinned.headers["cache-control"]?.hasSuffix("immutable") == true)
                let current = try await connection.request("GET", "/ck/" + name)
                #expect(pinned.body == current.body)
                let hash = try Self.sha384(pinned.body)
                #expect(version.integrity == "sha384-" + hash, "\(name)")
            }
        }
    }

    @Test func `the scripts load the sheet for sharing of their own version, and have none of it`() async throws {
        try await withServer { connection, _ in
            let sheet = try await connection.request("GET", "/ck/2/sharesheet.js")
            let hash = try Self.sha384(sheet.body)
            for path in Self.paths.prefix(3) {
                let script = try await connection.request("GET", path).text
                #expect(!script.contains("SHEET_") && !script.contains("cloudkit-share"), "\(path)")
                let loaded = try #require(script.firstMatch(of: /\["([0-9a-f]{16})", "sha384-([^"]+)"\]/), "\(path)")
                #expect(loaded.2 == hash)
                #expect(try await connection.request("GET", "/ck/\(loaded.1)/sharesheet.js").body == sheet.body)
            }
        }
    }

    @Test func `a page elsewhere loads the script from a development server, and gets no more`() async throws {
        try await withServer { connection, _ in
            let elsewhere = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"]
            let script = try await connection.request("GET", "/ck/2/cloudkit.js", headers: elsewhere)
            #expect(script.status == 200)
            let current = "/database/1/iCloud.a/development/public/users/current?ckWebAuthToken=dev:mei"
            let caller = try await connection.request("GET", current, headers: elsewhere)
            #expect(caller.status == 403)
        }
    }

    @Test func `comments and indentation are not served, and statements are`() {
        let source = """
            // A comment.
            /** One line. */
            /**
             * Several lines.
             */
            function f() {
              /** @type {string} */ const text = "// not a comment";

              return text; // the end of a line stays
            }

            """
        let served = Array(source.utf8).withUnsafeBytes(ScriptText.withoutComments)
        #expect(
            served == """
                function f() {
                const text = "// not a comment";
                return text; // the end of a line stays
                }

                """)
    }

    @Test func `no part of the script makes markup of text, or has a literal that spans lines`() throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: Self.sources.path) where file.hasSuffix(".js") {
            let text = try String(contentsOf: Self.sources.appendingPathComponent(file), encoding: .utf8)
            for risk in [
                "innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "document.cookie",
            ] {
                #expect(!text.contains(risk), "\(file): \(risk)")
            }
            for line in text.split(separator: "\n") {
                #expect(line.count { $0 == "`" }.isMultiple(of: 2), "\(file): \(line)")
            }
        }
    }

    /// The table of members is in the script, which needs Node and TypeScript.
    @Test func `every member is as documented, typed and called against the server`() async throws {
        try await withServer { _, port in
            let script = Self.root.appendingPathComponent("scripts/check-cloudkit-js").path
            let finished = try await StartedNephos(
                ["node", script, "http://127.0.0.1:\(port)", "--types"], product: "/usr/bin/env"
            ).finish()
            #expect(finished.status == 0, "\(finished.output)\(finished.errors)")
        }
    }

    @Test func `a program in Node signs its requests with a server-to-server key`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let server = try ServedInstallation(directory)
        try await server.start()
        let (key, pem) = (directory.path + "/key.pem", directory.path + "/public.pem")
        _ = try await openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
        _ = try await openssl(["ec", "-in", key, "-pubout", "-out", pem])
        let container = ServedInstallation.container
        _ = try await server.prepare()
        let id = try await server.output("server-keys", "create", "--container", container, "--public-key", pem)
        let script = Self.root.appendingPathComponent("scripts/check-cloudkit-js").path
        let finished = try await StartedNephos(
            ["node", script, server.url, "--key", id, key, container], product: "/usr/bin/env"
        ).finish()
        #expect(finished.status == 0, "\(finished.output)\(finished.errors)")
        try await server.stop()
    }

    private static var sources: URL { root.appendingPathComponent("Sources/CWebFiles/cloudkit") }

    /// The hash in base64, by another program than the server.
    private static func sha384(_ bytes: [UInt8]) throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (program, output) = (Process(), Pipe())
        program.executableURL = URL(fileURLWithPath: "/usr/bin/sha384sum")
        program.arguments = [file.path]
        program.standardOutput = output
        try program.run()
        let digits = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).prefix(96)
        let digest = stride(from: 0, to: 96, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) }
        return Data(digest).base64EncodedString()
    }
}
