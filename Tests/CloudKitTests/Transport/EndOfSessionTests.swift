import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// What an app sees after its account's session ended.
@Suite struct EndOfSessionTests {
    private func container(_ server: CannedServer) throws -> CKContainer {
        let environment = try CloudKitEnvironment(variables: [
            "NEPHOS_URL": server.url, "NEPHOS_TOKEN": "abc", "NEPHOS_API_TOKEN": "def",
        ])
        return CKContainer(
            identifier: "iCloud.test", service: try HTTPService("iCloud.test", environment), environment: .system)
    }

    @Test func `the end of a session is announced as a change of the account, which is then unavailable`() async throws
    {
        let server = try CannedServer(
            CannedServer.response(
                421, #"{"uuid":"u","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"the session is over"}"#,
                headers: ["Content-Type: application/json"]))
        defer { server.close() }
        let container = try container(server)
        // Other tests' accounts change, too.
        await confirmation(expectedCount: 1...) { announced in
            let observer = NotificationCenter.default.addObserver(
                forName: .CKAccountChanged, object: nil, queue: nil
            ) { _ in announced() }
            let error = await #expect(throws: CKError.self) {
                _ = try await container.privateCloudDatabase.record(for: CKRecord.ID(recordName: "note"))
            }
            #expect(error?.code == .notAuthenticated)
            NotificationCenter.default.removeObserver(observer)
        }
        #expect(try await container.accountStatus() == .temporarilyUnavailable)
    }
}
