import Foundation
import Glibc
import Testing

/// Transfers that end mid-file: the client disconnects, or the server is killed.
@Suite struct AssetCutTests {
    /// More than the buffers of a connection hold.
    private static let content = String(repeating: "0123456789abcdef", count: 1_000_000)
    private static let size = 16_000_000

    private func start(_ data: URL) async throws -> (StartedNephos, AssetClient) {
        let server = try StartedNephos(["dev", "--port", "0", "--data", data.path])
        return (server, AssetClient(port: try readyPort(try await server.readyLine())))
    }

    /// The part of an address that is the same for a server on another port.
    private func path(_ address: String) throws -> String {
        let address = try #require(URLComponents(string: address.replacingOccurrences(of: "${f}", with: "file")))
        return address.path
    }

    /// Reads that much of a file, and no more.
    private func beginDownload(_ path: String, _ client: AssetClient, bytes: Int) async throws -> TestConnection {
        let connection = try TestConnection(port: client.port)
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        if bytes > 0 { _ = try await connection.bytes(bytes) }
        return connection
    }

    @Test(.timeLimit(.minutes(15)))
    func `a download cut at every tenth leaves no file open, and the next one is whole`() async throws {
        try await withTemporaryDirectory { data in
            let (server, client) = try await start(data)
            let path = try path(try await client.saved(Self.content))
            for tenth in 0..<10 {
                let connection = try await beginDownload(path, client, bytes: Self.size / 10 * tenth)
                connection.abandon()
            }
            #expect(try await client.get(path).text == Self.content)
            let descriptors = "/proc/\(server.process.processIdentifier)/fd"
            try await offThePool {
                // Until the server has noticed.
                while try FileManager.default.contentsOfDirectory(atPath: descriptors).contains(where: { name in
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\(name)")
                    return target?.contains("development.assets/files/") == true
                }) { sched_yield() }
            }
            #expect(try await server.stop().status == 0)
        }
    }

    @Test(.timeLimit(.minutes(15)))
    func `kills at every tenth of an upload and a download leave nothing, and retries are whole`() async throws {
        try await withTemporaryDirectory { data in
            let uploads = data.appendingPathComponent("iCloud.test/development.assets/uploads").path
            var (server, client) = try await start(data)
            let address = try path(try await client.saved(Self.content))
            for tenth in 0..<10 {
                let part = Self.size / 10 * tenth
                let url = try await client.uploadURL(record: "r\(tenth)", field: "file")
                let upload = try TestConnection(port: client.port)
                try await upload.send(
                    "POST \(try path(url)) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: \(Self.size)\r\n\r\n"
                        + Self.content.prefix(part))
                // All but the pieces that are in memory is in the file.
                try await offThePool {
                    func written() -> Int {
                        let names = (try? FileManager.default.contentsOfDirectory(atPath: uploads)) ?? []
                        return names.reduce(0) { sum, name in
                            var status = stat()
                            return sum + (stat("\(uploads)/\(name)", &status) == 0 ? Int(status.st_size) : 0)
                        }
                    }
                    while written() < part - 1_000_000 { sched_yield() }
                }
                let download = try await beginDownload(address, client, bytes: part)
                #expect(try await server.stop(SIGKILL).exited == false)
                withExtendedLifetime((upload, download)) {}

                (server, client) = try await start(data)
                // Addresses and what was saved outlive the server.
                let rest = try await client.get(address, ["Range": "bytes=\(part)-"])
                #expect(rest.status == 206 && rest.text == Self.content.dropFirst(part))
                #expect(try FileManager.default.contentsOfDirectory(atPath: uploads) == [])
                let file = try await client.upload(Self.content, to: try path(url))
                _ = try await client.save("r\(tenth)", field: "file", file)
            }
            #expect(try await server.stop().status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: uploads) == [])
            let verified = try await StartedNephos(["verify", "--data", data.path]).finish()
            #expect(verified.status == 0 && !verified.output.contains("no row"), "\(verified.output)")
            #expect(verified.output.contains(" 1 files with \(Self.size) bytes"), "\(verified.output)")
        }
    }
}
