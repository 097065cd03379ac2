import Foundation
import NephosSQLite
import NephosServer
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

/// Which requests carry the token of the account, and where they carry it.
@Suite struct CredentialTests {
    private static let identifier = "iCloud.org.example.App"

    /// A request as a server got it.
    private struct Received: Sendable {
        var method: HTTPMethod
        var target: String
        var authorization: String?
    }

    /// Runs `body` with the address of a service, and with the requests that it gets.
    private func withService(_ body: (URL, Locked<[Received]>) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let received = Locked<[Received]>([])
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { request in
            received.withLock {
                $0.append(
                    Received(
                        method: request.method, target: request.target, authorization: request.authorization))
            }
            return await responder.respond(to: request)
        }
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(try #require(URL(string: "http://127.0.0.1:\(server.port)")), received))
        } catch {
            result = .failure(error)
        }
        service.endPolls()
        await server.stop()
        await service.close()
        try result.get()
    }

    private func database(_ account: String, at url: URL) -> CKDatabase {
        let environment = CloudKitEnvironment(url: url, account: .token("dev:" + account))
        return CKContainer(identifier: Self.identifier, service: environment.service(of: Self.identifier))
            .privateCloudDatabase
    }

    @Test func `accounts of one process have each their own records, whatever their names are`() async throws {
        let names = ["ada", "Ada Lovelace", "café", "安 & co+100%"]
        try await withService { url, received in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names {
                    let database = database(name, at: url)
                    group.addTask {
                        for _ in 0..<10 {
                            let record = CKRecord(
                                recordType: "Note", recordID: CKRecord.ID(recordName: UUID().uuidString))
                            record["owner"] = name
                            try await database.save(record)
                        }
                    }
                }
                try await group.waitForAll()
            }
            for name in names {
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                let found = try await database(name, at: url).records(matching: query).matchResults
                #expect(try found.map { try $0.1.get()["owner"] as? String } == Array(repeating: name, count: 10))
            }
            #expect(
                Set(received.withLock { $0.map(\.authorization) }) == [
                    "Bearer dev:ada", "Bearer dev:Ada%20Lovelace", "Bearer dev:caf%C3%A9",
                    "Bearer dev:%E5%AE%89%20%26%20co%2B100%25",
                ])
        }
    }

    @Test func `every request to the service has the token in its header, and none in its address`() async throws {
        let files = try TestFiles()
        try await withService { url, received in
            let database = database("mei", at: url)
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "photo"))
            record["image"] = CKAsset(fileURL: try files.file(Data("bytes".utf8)))
            try await database.save(record)
            _ = try await database.record(for: record.recordID)
            let requests = received.withLock(\.self)
            let files = requests.filter { $0.target.hasPrefix("/assets/1/") }
            #expect(files.map(\.method) == [.post, .get])
            #expect(requests.contains { $0.target.contains("/records/modify") })
            for request in requests {
                #expect(request.authorization == "Bearer dev:mei", "\(request.target)")
                #expect(!request.target.contains("ckWebAuthToken") && !request.target.contains("mei"))
            }
        }
    }

    @Test func `a long poll is sent without the token, as its address has a secret`() async throws {
        try await withService { url, received in
            let database = database("mei", at: url)
            let call = ServiceCall(scope: .private)
            let token = try await database.session.service.send(
                .createToken, TokenRequest(apnsEnvironment: .development), call)
            let poll = Task { try? await database.session.service.nextNotification(token, received: nil, call) }
            await eventually { received.withLock { $0.contains { $0.target.hasPrefix("/courier/") } } }
            poll.cancel()
            _ = await poll.value
            let requests = received.withLock(\.self)
            #expect(requests.map { $0.authorization } == ["Bearer dev:mei", nil])
        }
    }

    // MARK: Other servers

    private func service(at server: CannedServer) throws -> any CloudService {
        CloudKitEnvironment(url: try #require(URL(string: server.url)), account: .token("secret"))
            .service(of: Self.identifier)
    }

    @Test func `an address of another server gets no token`() async throws {
        let files = try TestFiles()
        let storage = try CannedServer(CannedServer.response(200, "bytes"))
        defer { storage.close() }
        let server = try CannedServer(CannedServer.response(200, "{}"))
        defer { server.close() }
        let service = try service(at: server)
        let call = ServiceCall(scope: .private)
        let copy = files.folder.appendingPathComponent("copy")
        try await service.download("\(storage.url)/bucket/file", to: copy, call) { _ in }
        #expect(try Data(contentsOf: copy) == Data("bytes".utf8))
        let content = AssetContent(file: copy, size: 5, key: nil)
        _ = try? await service.upload(content, to: "\(storage.url)/bucket/file", call) { _ in }
        #expect(storage.requests.map { $0.prefix { $0 != " " } } == ["GET", "POST"])
        #expect(!storage.requests.contains { $0.contains("secret") || $0.contains("Authorization") })
        #expect(server.requests.isEmpty)
    }

    @Test func `a redirect to another server carries no token there`() async throws {
        let files = try TestFiles()
        let other = try CannedServer(CannedServer.response(200, #"{"zones": []}"#))
        defer { other.close() }
        let server = try CannedServer(
            CannedServer.response(302, "", headers: ["Location: \(other.url)/elsewhere"]))
        defer { server.close() }
        let service = try service(at: server)
        let call = ServiceCall(scope: .private)
        _ = try await service.send(.listZones, call)
        let copy = files.folder.appendingPathComponent("copy")
        try await service.download("/assets/download/x", to: copy, call) { _ in }
        #expect(server.requests.count == 2 && other.requests.count == 2)
        #expect(server.requests.allSatisfy { $0.contains("\r\nAuthorization: Bearer secret\r\n") })
        #expect(!other.requests.contains { $0.contains("secret") || $0.contains("Authorization") })
    }

    // MARK: Tokens

    @Test(arguments: ["", "secret token", "secret\r\nX: y", "sécret", "secret\0"])
    func `a token that a header cannot carry is refused in words`(token: String) async throws {
        let server = try CannedServer(CannedServer.response(200, "{}"))
        defer { server.close() }
        let directory = ServiceDirectory()
        let url = try #require(URL(string: server.url))
        directory.setEnvironment(CloudKitEnvironment(url: url, account: .token(token)))
        let database = directory.container(Self.identifier).privateCloudDatabase
        let error = await expectFailure(.badContainer) { _ = try await database.allRecordZones() }
        #expect(error?.localizedDescription.contains("visible ASCII without spaces") == true)
        #expect(error?.localizedDescription.contains("cret") == false)
        #expect(server.requests.isEmpty)
    }
}
