import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// The files of the dashboard, as they are served.
@Suite struct DashboardTests {
    private static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/CWebFiles/dashboard")
    /// The limits of all files together, in bytes as served and compressed.
    private static let (sizeLimit, compressedLimit) = (200_000, 60_000)

    private func withServer(_ body: (TestConnection) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        try await body(try TestConnection(port: server.port))
        await server.stop()
        await service.close()
    }

    @Test func `every file of the folder is served as it is, with its type, and nothing else is`() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        #expect(Set(names) == Set(WebFiles.files.keys))
        let types = ["html": "text/html", "css": "text/css", "js": "text/javascript"]
        try await withServer { connection in
            for name in names {
                let file = Self.directory.appendingPathComponent(name)
                let response = try await connection.request("GET", "/dashboard/\(name)")
                #expect(response.status == 200, "\(name)")
                #expect(response.body == [UInt8](try Data(contentsOf: file)), "\(name)")
                let type = try #require(types[file.pathExtension], "\(name)")
                #expect(response.headers["content-type"] == "\(type); charset=utf-8", "\(name)")
            }
            for path in ["/dashboard/none.js", "/dashboard/app.js/more", "/dashboard/..%2Fapp.js"] {
                #expect(try await connection.request("GET", path).status == 404, "\(path)")
            }
            #expect(try await connection.request("POST", "/dashboard", body: "").status == 405)
        }
    }

    @Test func `every view has the address of the page, and the root leads to it`() async throws {
        try await withServer { connection in
            let page = try await connection.request("GET", "/dashboard")
            #expect(page.text.hasPrefix("<!doctype html>"))
            #expect(try await connection.request("GET", "/dashboard?view=records&type=Item").body == page.body)
            let root = try await connection.request("GET", "/")
            #expect(root.status == 302 && root.headers["location"] == "/dashboard")
        }
    }

    @Test func `a file is sent again only after it changed`() async throws {
        try await withServer { connection in
            var tags: Set<String> = []
            for name in WebFiles.files.keys {
                let path = "/dashboard/\(name)"
                let first = try await connection.request("GET", path)
                let tag = try #require(first.headers["etag"])
                tags.insert(tag)
                #expect(first.headers["cache-control"] == "no-cache")
                let second = try await connection.request("GET", path, headers: ["If-None-Match": tag])
                #expect(second.status == 304 && second.body.isEmpty && second.headers["etag"] == tag)
                let other = try await connection.request("GET", path, headers: ["If-None-Match": "\"0\""])
                #expect(other.status == 200 && other.body == first.body)
            }
            #expect(tags.count == WebFiles.files.count)
        }
    }

    @Test func `a browser that takes gzip gets the files so, under a tag of their own`() async throws {
        try await withServer { connection in
            for (name, file) in WebFiles.files {
                let path = "/dashboard/\(name)"
                let plain = try await connection.request("GET", path)
                let packed = try await connection.request("GET", path, headers: ["Accept-Encoding": "br, gzip;q=0.5"])
                #expect(packed.headers["content-encoding"] == "gzip" && packed.body.count < plain.body.count)
                #expect(try GzipBody.inflate(packed.body, limit: 1_000_000) == Array(file.bytes.buffer))
                #expect(packed.headers["vary"] == "Accept-Encoding" && plain.headers["vary"] == "Accept-Encoding")
                let tag = try #require(packed.headers["etag"])
                #expect(tag != plain.headers["etag"])
                let headers = ["Accept-Encoding": "gzip", "If-None-Match": tag]
                #expect(try await connection.request("GET", path, headers: headers).status == 304)
                for refusal in ["identity", "gzip;q=0", "br, gzip; q=0.000"] {
                    let answer = try await connection.request("GET", path, headers: ["Accept-Encoding": refusal])
                    #expect(answer.headers["content-encoding"] == nil && answer.body == plain.body)
                }
            }
        }
    }

    @Test func `the pages run no script but the server's, and cannot be framed`() async throws {
        try await withServer { connection in
            for path in ["/dashboard", "/dashboard/app.js"] {
                let headers = try await connection.request("GET", path).headers
                let policy = Set(headers["content-security-policy"]?.components(separatedBy: "; ") ?? [])
                #expect(
                    policy == [
                        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                        "img-src 'self' blob: data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
                        "require-trusted-types-for 'script'", "trusted-types 'none'",
                    ])
                #expect(headers["x-content-type-options"] == "nosniff")
                #expect(headers["referrer-policy"] == "no-referrer")
                #expect(headers["cross-origin-opener-policy"] == "same-origin")
            }
            let elsewhere = try await connection.request("GET", "/dashboard", headers: ["Host": "evil.example"])
            #expect(elsewhere.status == 403)
        }
    }

    @Test func `the server's own page signs in to the administration, and no other page does`() async throws {
        let server = try await ProductionServer()
        func status(_ path: String, _ message: String, _ origin: String?) async -> Int {
            await server.responder.respond(
                to: HTTPRequest(
                    method: .post, target: "/nephos/1/installation/\(path)", host: "cloud.example.org",
                    origin: origin, body: Array(message.utf8))
            ).status
        }
        let token = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [],
            allowsSignIn: true, lifetime: nil, by: AuditActor(name: "user 0")
        ).token
        let signIn = #"{"account":"administrator","password":"\#(ProductionServer.password)","administration":true}"#
        for (path, message, refusal) in [
            ("sessions/sign-in", signIn, 401), ("logins/begin", #"{"administration":true}"#, 403),
        ] {
            #expect(await status(path, message, nil) == 200, "\(path)")
            #expect(await status(path, message, ProductionServer.url) == 200, "\(path)")
            #expect(await status(path, message, ProductionServer.page) == refusal, "\(path)")
            #expect(await status(path, message, "https://cloud.example.org.evil.example") == refusal, "\(path)")
        }
        let ofContainer = "logins/begin?ckAPIToken=\(token)"
        #expect(await status(ofContainer, "{}", nil) == 200)
        #expect(await status(ofContainer, "{}", ProductionServer.url) == 403)
        await server.close()
    }

    @Test func `no script makes markup of text, and no page has a script or style of its own`() throws {
        for file in WebFiles.files.values {
            let text = String(decoding: file.bytes.buffer, as: UTF8.self)
            for risk in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
                "srcdoc", "javascript:", "style=", "<style", "onclick=",
            ] {
                #expect(!text.contains(risk), "\(file.name): \(risk)")
            }
        }
    }

    @Test func `the files are small`() throws {
        let files = WebFiles.files.values
        #expect(files.reduce(0) { $0 + $1.bytes.buffer.count } <= Self.sizeLimit)
        let sizes = try files.map { try Self.compressedSize(Self.directory.appendingPathComponent($0.name)) }
        #expect(sizes.reduce(0, +) <= Self.compressedLimit)
    }

    private static func compressedSize(_ file: URL) throws -> Int {
        let (gzip, output) = (Process(), Pipe())
        gzip.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        gzip.arguments = ["gzip", "-c", file.path]
        gzip.standardOutput = output
        try gzip.run()
        return output.fileHandleForReading.readDataToEndOfFile().count
    }
}
