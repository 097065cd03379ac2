import Foundation
import NephosSQLite
import NephosWire
import Testing

@testable import NephosServer
@testable import NephosService

/// The flow of files for clients of CloudKit Web Services: an address, the bytes, the receipt, the record, the download.
@Suite struct AssetRouteTests {
    private static let path = "/database/1/iCloud.test/development/private"
    private static let me = "?ckWebAuthToken=dev:me"

    private func withServer(
        _ configuration: ServiceConfiguration = ServiceConfiguration(),
        _ body: (AssetClient) async throws -> Void
    ) async throws {
        let service = NephosService(stores: MemoryStores(), configuration: configuration)
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        do {
            try await body(AssetClient(port: server.port))
        } catch {
            await server.stop()
            await service.close()
            throw error
        }
        await server.stop()
        await service.close()
    }

    @Test func `an uploaded file is saved with its receipt and downloaded from the record's address`() async throws {
        try await withServer { client in
            let url = try await client.uploadURL(record: "A-18", field: "image")
            let file = try await client.upload("hello world", to: url)
            #expect(file["fileChecksum"] as? String == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
            #expect(file["size"] as? Int == 11)
            #expect((file["wrappingKey"] as? String)?.count == 24)
            #expect((file["referenceChecksum"] as? String)?.count == 28)
            let saved = try await client.save("A-18", field: "image", file)
            #expect(saved["fileChecksum"] as? String == "AfmD7UtOGIItmXHUm5CO1yik4vxv")
            #expect(Set(saved.keys) == ["fileChecksum", "size", "downloadURL"])

            let address = try #require(try await client.lookup("A-18", field: "image")["downloadURL"] as? String)
            #expect(address.contains("${f}"))
            for variant in [address, address.replacingOccurrences(of: "${f}", with: "photo%20of%20me.png")] {
                let answer = try await client.get(variant)
                #expect(answer.status == 200 && answer.text == "hello world")
                #expect(answer.headers["content-type"] == "application/octet-stream")
                #expect(answer.headers["x-content-type-options"] == "nosniff")
                #expect(answer.headers["content-disposition"] == "attachment")
                #expect(answer.headers["content-security-policy"] == "sandbox")
            }
        }
    }

    @Test func `the checksum of an empty file is the one that Apple's service gives`() async throws {
        try await withServer { client in
            let file = try await client.upload("", to: try await client.uploadURL(record: "r", field: "f"))
            #expect(file["fileChecksum"] as? String == "AW2cWT2PxzWixMKuuNMTHJ8CJ3sH")
            _ = try await client.save("r", field: "f", file)
            let address = try #require(try await client.lookup("r", field: "f")["downloadURL"] as? String)
            let answer = try await client.get(address)
            #expect(answer.status == 200 && answer.body.isEmpty)
        }
    }

    @Test func `a receipt is valid again for its record and field, and for nothing else`() async throws {
        try await withServer { client in
            let file = try await client.upload("x", to: try await client.uploadURL(record: "r", field: "f"))
            _ = try await client.save("r", field: "f", file)
            _ = try await client.save("r", field: "f", file)
            #expect(try await client.errorOfSaving("other", field: "f", file) == "BAD_REQUEST")
            #expect(try await client.errorOfSaving("r", field: "g", file) == "BAD_REQUEST")
            #expect(try await client.errorOfSaving("r", field: "f", file, account: "tom") == "BAD_REQUEST")
            var forged = file
            forged["receipt"] = "A" + (file["receipt"] as? String ?? "").dropFirst()
            #expect(try await client.errorOfSaving("q", field: "f", forged) == "BAD_REQUEST")
            // What was read is no receipt, but may be sent back to its field.
            let read = try await client.lookup("r", field: "f")
            _ = try await client.save("r", field: "f", read)
            #expect(try await client.errorOfSaving("other", field: "f", read) == "BAD_REQUEST")
        }
    }

    @Test func `rereference gives a receipt for another record`() async throws {
        try await withServer { client in
            let file = try await client.upload("x", to: try await client.uploadURL(record: "r", field: "f"))
            _ = try await client.save("r", field: "f", file)
            let answer = try await client.post(
                "assets/rereference",
                #"{"assets":[{"recordName":"r","fieldName":"f"},{"recordName":"no","fieldName":"f"}]}"#)
            let assets = try #require(answer["assets"] as? [[String: Any]])
            #expect(assets.count == 2 && assets[1]["serverErrorCode"] as? String == "NOT_FOUND")
            _ = try await client.save("second", field: "other", assets[0])
            let address = try #require(try await client.lookup("second", field: "other")["downloadURL"] as? String)
            #expect(try await client.get(address).text == "x")
        }
    }

    struct RangeSample: Sendable {
        var range: String
        var status: Int
        var text: String?
        var contentRange: String?

        init(_ range: String, _ status: Int, _ text: String?, _ contentRange: String?) {
            self.range = range
            self.status = status
            self.text = text
            self.contentRange = contentRange
        }
    }

    @Test func `a range is answered as RFC 9110 requires, and several ranges with the whole file`() async throws {
        let samples = [
            RangeSample("bytes=0-3", 206, "0123", "bytes 0-3/10"),
            RangeSample("bytes=7-", 206, "789", "bytes 7-9/10"),
            RangeSample("bytes=-4", 206, "6789", "bytes 6-9/10"),
            RangeSample("bytes=5-99", 206, "56789", "bytes 5-9/10"),
            RangeSample("bytes=-99", 206, "0123456789", "bytes 0-9/10"),
            RangeSample("bytes=0-1,3-4", 200, "0123456789", nil),
            RangeSample("lines=1-2", 200, "0123456789", nil),
            RangeSample("bytes=10-", 416, nil, "bytes */10"),
            RangeSample("bytes=-0", 416, nil, "bytes */10"),
        ]
        try await withServer { client in
            let address = try await client.saved("0123456789")
            for sample in samples {
                let answer = try await client.get(address, ["Range": sample.range])
                #expect(answer.status == sample.status, "\(sample.range)")
                if let text = sample.text { #expect(answer.text == text, "\(sample.range)") }
                #expect(answer.headers["content-range"] == sample.contentRange, "\(sample.range)")
            }
        }
    }

    @Test func `entity tags, HEAD and conditional ranges are answered`() async throws {
        try await withServer { client in
            let address = try await client.saved("0123456789")
            let head = try await client.request("HEAD", address)
            let tag = try #require(head.headers["etag"])
            #expect(head.status == 200 && head.headers["content-length"] == "10" && !tag.hasPrefix("W/"))
            #expect(try await client.get(address, ["If-None-Match": tag]).status == 304)
            #expect(try await client.get(address, ["If-None-Match": "\"x\""]).status == 200)
            #expect(try await client.get(address, ["Range": "bytes=0-1", "If-Range": tag]).text == "01")
            #expect(try await client.get(address, ["Range": "bytes=0-1", "If-Range": "\"x\""]).text == "0123456789")
        }
    }

    @Test func `forged, changed and unknown addresses are refused`() async throws {
        try await withServer { client in
            let address = try await client.saved("0123456789")
            let parts = address.split(separator: "/").map(String.init)
            let (content, token) = (parts[6], parts[7])
            let foreign = String(repeating: "0", count: 64)
            for wrong in [
                address.replacingOccurrences(of: content, with: foreign),
                address.replacingOccurrences(of: token, with: (token.first == "A" ? "B" : "A") + token.dropFirst()),
                address.replacingOccurrences(of: "iCloud.test", with: "iCloud.other"),
                address.replacingOccurrences(of: token, with: "x"),
            ] {
                #expect(try await client.get(wrong).status == 404)
            }
            let upload = try await client.uploadURL(record: "r", field: "f")
            let last = try #require(upload.split(separator: "/").last.map(String.init))
            let answer = try await client.request(
                "POST", upload.replacingOccurrences(of: last, with: last + "x"), body: "x")
            #expect(answer.status == 400)
        }
    }

    @Test func `a file that is too large is refused by its announced length and as it streams`() async throws {
        var configuration = ServiceConfiguration()
        configuration.assetSize = 1000
        try await withServer(configuration) { client in
            let url = try await client.uploadURL(record: "r", field: "f")
            let announced = try await client.request("POST", url, body: String(repeating: "x", count: 1001))
            #expect(announced.status == 413 && announced.text.contains("1000 bytes"))
            let chunked = try await client.request(
                "POST", url, ["Transfer-Encoding": "chunked"],
                rawBody: "3E9\r\n" + String(repeating: "x", count: 1001) + "\r\n0\r\n\r\n")
            #expect(chunked.status == 413)
            let exact = try await client.request("POST", url, body: String(repeating: "x", count: 1000))
            #expect(exact.status == 200)
        }
    }

    @Test func `a client that sends far over the limit reads why, and a compressed file is refused`() async throws {
        var configuration = ServiceConfiguration()
        configuration.assetSize = 1000
        try await withServer(configuration) { client in
            let url = try await client.uploadURL(record: "r", field: "f")
            let path = url.replacingOccurrences(of: "http://127.0.0.1:\(client.port)", with: "")
            let connection = try TestConnection(port: client.port)
            try await connection.send(
                "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
            let piece = Array("100000\r\n".utf8) + [UInt8](repeating: 0x78, count: 1 << 20) + Array("\r\n".utf8)
            for _ in 0..<40 { try await connection.send(piece) }
            try await connection.send("0\r\n\r\n")
            let answer = try await connection.response()
            #expect(answer.status == 413 && answer.text.contains("1000 bytes"))
            let encoded = try await client.request("POST", url, ["Content-Encoding": "gzip"], body: "x")
            #expect(encoded.status == 400 && encoded.text.contains("Content-Encoding"))
        }
    }

    @Test func `an upload address is issued only for names that may be saved`() async throws {
        try await withServer { client in
            let answer = try await client.post(
                "assets/upload", #"{"tokens":[{"recordName":"_x","recordType":"Note","fieldName":"f"}]}"#)
            let refused = (answer["tokens"] as? [[String: Any]])?.first
            #expect(refused?["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect((refused?["reason"] as? String)?.contains("underscore") == true)
        }
    }

    @Test func `a client that sends a refused file without 100-continue reads the answer, and may go on`() async throws
    {
        try await withServer { client in
            let url = try await client.uploadURL(record: "a", field: "file")
            let forged = url.replacingOccurrences(of: "http://127.0.0.1:\(client.port)", with: "").dropLast(4) + "AAAA"
            let connection = try TestConnection(port: client.port)
            for _ in 0..<2 {
                try await connection.send(
                    "POST \(forged) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 8000000\r\n\r\n")
                try await connection.send([UInt8](repeating: 0x78, count: 8_000_000))
                let answer = try await connection.response()
                #expect(answer.status >= 400 && answer.text.contains("serverErrorCode"), "\(answer.text)")
            }
        }
    }

    @Test func `a full database refuses files with QUOTA_EXCEEDED`() async throws {
        var configuration = ServiceConfiguration()
        configuration.assetBytesPerDatabase = 1500
        try await withServer(configuration) { client in
            _ = try await client.saved(String(repeating: "a", count: 1000))
            let url = try await client.uploadURL(record: "r", field: "f")
            let refused = try await client.request("POST", url, body: String(repeating: "b", count: 501))
            #expect(refused.status == 413 && refused.text.contains("QUOTA_EXCEEDED"))
            #expect(try await client.request("POST", url, body: String(repeating: "b", count: 500)).status == 200)
        }
    }

    @Test func `a browser that keeps a file for an image does not give it to a script`() async throws {
        try await withServer { client in
            let url = try await client.saved("hello")
            let image = try await client.request("GET", url)
            #expect(image.headers["vary"] == "Origin" && image.headers["access-control-allow-origin"] == nil)
            let script = try await client.request("GET", url, ["Origin": "http://localhost:3000"])
            #expect(script.headers["vary"] == "Origin")
            #expect(script.headers["access-control-allow-origin"] == "http://localhost:3000")
        }
    }

    @Test func `an upload from a web page is preceded by a preflight`() async throws {
        try await withServer { client in
            let url = try await client.uploadURL(record: "r", field: "f")
            let origin = ["Origin": "http://localhost:3000"]
            let preflight = try await client.request("OPTIONS", url, origin)
            #expect(preflight.status == 200)
            #expect(preflight.headers["access-control-allow-origin"] == "http://localhost:3000")
            #expect(preflight.headers["access-control-allow-headers"]?.contains("Content-Type") == true)
            let upload = try await client.request("POST", url, origin, body: "x")
            #expect(upload.status == 200)
            #expect(upload.headers["access-control-allow-origin"] == "http://localhost:3000")
        }
    }
}
