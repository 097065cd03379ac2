import Foundation
import Testing

/// `nephos share accept`, which has the URL of a share and nothing else.
@Suite struct ShareAcceptTests {
    @Test func `a share's URL says the server and the container`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let client = AssetClient(port: try readyPort(try await server.readyLine()), account: "alice")
        func post(_ action: String, _ body: String) async throws -> [String: Any] {
            try await client.post(action, body)
        }
        _ = try await post(
            "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
        let saved = try await post(
            "records/modify",
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordName":"root","#
                + #""recordType":"List","fields":{}}},{"operationType":"create","record":{"recordName":"share","#
                + #""recordType":"cloudkit.share","forRecord":{"recordName":"root"},"publicPermission":"READ_ONLY"}}]}"#
        )
        let records = try #require(saved["records"] as? [[String: Any]])
        let guid = try #require(records.last?["shortGUID"] as? String, "\(saved)")
        // Another container, so that there is a choice.
        _ = try await client.request(
            "GET", "/database/1/iCloud.other/development/private/zones/list?ckWebAuthToken=dev:bob")

        // The server of the environment is none.
        let elsewhere = ["NEPHOS_URL": "http://127.0.0.1:1", "NEPHOS_CONTAINER": ""]
        let url = "http://127.0.0.1:\(client.port)/share/\(guid)#Title"
        let accepted = try await StartedNephos(["share", "accept", url, "--account", "bob"], environment: elsewhere)
            .finish()
        #expect(accepted.status == 0 && accepted.output.hasPrefix("accepted: zone Z of _"), "\(accepted)")
        #expect(accepted.output.hasSuffix(" in iCloud.test, READ_ONLY\n"))
        let foreign = try await StartedNephos(
            ["share", "accept", "http://127.0.0.1:\(client.port)/share/none"], environment: elsewhere
        ).finish()
        #expect(foreign.status == 2 && foreign.errors.contains("has no container that the URL is of"), "\(foreign)")
        let gone = try await StartedNephos(["share", "accept", guid, "--account", "bob"], environment: elsewhere)
            .finish()
        #expect(gone.status == 1 && gone.errors.contains("no server answers at http://127.0.0.1:1"), "\(gone)")
        #expect(try await server.stop().status == 0)
    }
}
