import CloudKit
import Testing

/// Requests over HTTP, and answers that are not the service's.
@Suite struct HTTPTransportTests {
    private func container(
        at server: CannedServer, account: CloudKitEnvironment.Account = .token("dev:mei & co")
    ) throws -> CKContainer {
        let directory = ServiceDirectory()
        let url = try #require(URL(string: server.url + "/base/"))
        directory.setEnvironment(CloudKitEnvironment(url: url, account: account, apiToken: "a+b", name: .production))
        return directory.container("iCloud.org.example.Gallery")
    }

    @Test func `a request names the container, its environment, the database and the account`() async throws {
        let server = try CannedServer(CannedServer.response(200, #"{"zones": []}"#))
        defer { server.close() }
        let container = try container(at: server)
        #expect(try await container.privateCloudDatabase.allRecordZones() == [])
        let request = try #require(server.requests.first)
        #expect(
            request.hasPrefix(
                "GET /base/database/1/iCloud.org.example.Gallery/production/private/zones/list"
                    + "?ckAPIToken=a%2Bb&clientId="))
        #expect(request.contains("\r\nAuthorization: Bearer dev:mei%20%26%20co\r\n"))
        #expect(!request.prefix { !$0.isNewline }.contains("mei"))
    }

    @Test func `a save is posted as JSON and its answer decoded`() async throws {
        let body = """
            {"records": [{"recordName": "A-17", "recordType": "Artwork", "recordChangeTag": "k3", "fields": {},
              "created": {"timestamp": 1760001000000, "userRecordName": "_me", "deviceID": "1"},
              "modified": {"timestamp": 1760001000000, "userRecordName": "_me", "deviceID": "1"}}]}
            """
        let server = try CannedServer(CannedServer.response(200, body))
        defer { server.close() }
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: "A-17"))
        record["title"] = "Noon"
        try await container(at: server).publicCloudDatabase.save(record)
        #expect(record.recordChangeTag == "k3")
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /base/database/1/iCloud.org.example.Gallery/production/public/records/modify?"))
        #expect(request.contains(#""operationType":"create""#))
        #expect(request.contains(#""Noon""#))
    }

    @Test func `without an account no token is sent`() async throws {
        let server = try CannedServer(CannedServer.response(200, #"{"zones": []}"#))
        defer { server.close() }
        _ = try await container(at: server, account: .none).publicCloudDatabase.allRecordZones()
        #expect(server.requests.first?.contains("Authorization") == false)
    }

    @Test(
        arguments: [
            (400, .networkFailure), (401, .networkFailure), (403, .networkFailure), (404, .networkFailure),
            (413, .networkFailure), (421, .networkFailure), (429, .requestRateLimited), (500, .serviceUnavailable),
            (502, .serviceUnavailable), (503, .serviceUnavailable), (504, .serviceUnavailable),
        ] as [(Int, CKError.Code)])
    func `an answer without an error dictionary maps by its status`(status: Int, code: CKError.Code) async throws {
        let server = try CannedServer(CannedServer.response(status, "<html>", headers: ["Retry-After: 7"]))
        defer { server.close() }
        let database = try container(at: server).privateCloudDatabase
        let error = await expectFailure(code) { _ = try await database.allRecordZones() }
        #expect(error?.retryAfterSeconds == 7)
        #expect(error?.localizedDescription.contains(server.url) == true)
    }

    @Test func `an error dictionary takes precedence over the status`() async throws {
        let body = """
            {"uuid": "u-1", "serverErrorCode": "BAD_REQUEST", "reason": "no zones here", "nephosErrorCode": 24}
            """
        let server = try CannedServer(CannedServer.response(400, body))
        defer { server.close() }
        let database = try container(at: server).publicCloudDatabase
        let error = await expectFailure(.badDatabase) { try await database.save(CKRecordZone(zoneName: "Gallery")) }
        #expect(error?.localizedDescription == "no zones here")
        #expect(error?.userInfo["RequestUUID"] as? String == "u-1")
    }

    @Test(arguments: ["", "<html>", #"{"records": []}"#, #"{"zones": 7}"#])
    func `an answer that is not CloudKit's is a network failure`(body: String) async throws {
        let server = try CannedServer(CannedServer.response(200, body))
        defer { server.close() }
        let database = try container(at: server).privateCloudDatabase
        let error = await expectFailure(.networkFailure) { _ = try await database.allRecordZones() }
        #expect(error?.localizedDescription.contains("another program listens there") == true)
    }

    @Test func `a silent service times out`() async throws {
        let server = try CannedServer(nil)
        defer { server.close() }
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 0.1
        let database = try container(at: server).privateCloudDatabase
        await expectFailure(.networkFailure) {
            _ = try await database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
        configuration.timeoutIntervalForResource = 60
        configuration.timeoutIntervalForRequest = 0.1
        await expectFailure(.networkFailure) {
            _ = try await database.configuredWith(configuration: configuration) { try await $0.allRecordZones() }
        }
    }

    @Test func `a running operation is cancelled at once`() async throws {
        let server = try CannedServer(nil)
        defer { server.close() }
        let database = try container(at: server).privateCloudDatabase
        let task = Task { try await database.allRecordZones() }
        task.cancel()
        await expectFailure(.operationCancelled) { _ = try await task.value }
    }

    @Test func `a connection that breaks is a network failure`() async throws {
        let server = try CannedServer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{")
        defer { server.close() }
        let database = try container(at: server).privateCloudDatabase
        let error = await expectFailure(.networkFailure) { _ = try await database.allRecordZones() }
        #expect(error?.localizedDescription.contains("its address begins with https://") == true)
    }
}
