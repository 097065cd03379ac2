import Foundation
import NephosSQLite
import NephosServer
import NephosService
import NephosWire
import Testing

@testable import CloudKit

/// Downloads that are cut before the end of the file.
@Suite struct CutDownloadTests {
    @Test(arguments: [true, false])
    func `a download cut at every tenth leaves nothing partial, and the next one is whole`(
        isSealed: Bool
    ) async throws {
        let files = try TestFiles()
        let content = Data(UUID().uuidString.utf8) + pattern(3_000_000)
        try await withCutDownloads { url, end in
            let name = "iCloud.org.example.App"
            let environment = CloudKitEnvironment(url: url, account: .token("dev:me"))
            let container = CKContainer(identifier: name, service: environment.service(of: name))
            // Files of the public database are not sealed.
            let database = isSealed ? container.privateCloudDatabase : container.publicCloudDatabase
            let record = note("photo")
            record["image"] = CKAsset(fileURL: try files.file(content))
            try await database.save(record)
            for tenth in 0..<10 {
                end.value = Int64(content.count / 10 * tenth)
                await expectFailure(.networkFailure) { _ = try await database.record(for: record.recordID) }
            }
            end.value = .max
            let fetched = try await database.record(for: record.recordID)
            #expect(try fetched.content("image") == content)

            // Temporary files are in the folder that the content is in.
            let address = try #require((fetched["image"] as? CKAsset)?.wireValue?.downloadURL)
            let file = try #require(AssetLocation.content(of: address))
            let contents = AssetFiles.shared.root.appendingPathComponent("contents")
            let folders = try FileManager.default.contentsOfDirectory(at: contents, includingPropertiesForKeys: nil)
                .filter { FileManager.default.fileExists(atPath: $0.appendingPathComponent(file).path) }
            #expect(folders.count == 1)
            for folder in folders {
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [file])
                try FileManager.default.removeItem(at: folder)
            }
        }
    }

    /// Runs `body` with the address of a server that ends connections where a file's bytes reach an offset.
    private func withCutDownloads(_ body: (URL, Box<Int64>) async throws -> Void) async throws {
        let end = Box(Int64.max)
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { request in
            var response = await responder.respond(to: request)
            if let stream = response.stream { response.stream?.body = CutBody(stream.body, end: end.value) }
            return response
        }
        let result: Result<Void, any Error>
        do {
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
            result = .success(try await body(url, end))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        await service.close()
        try result.get()
    }
}

/// A file that cannot be read from an offset on, so that the server ends the connection there.
private final class CutBody: StreamedBody {
    private struct Cut: Error {}

    private let body: any StreamedBody
    private let end: Int64

    init(_ body: any StreamedBody, end: Int64) {
        self.body = body
        self.end = end
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        guard offset < end else { throw Cut() }
        let count = min(buffer.count, Int(clamping: end - offset))
        return try body.readNow(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
    }

    func read(_ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        guard offset < end else { return completion(.failure(Cut())) }
        body.read(min(count, Int(clamping: end - offset)), at: offset, completion)
    }
}
