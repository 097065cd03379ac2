import Foundation
import Testing

@testable import CloudKit

/// `nephos share accept`, which has only the URL of a share.
@Suite struct ShareAcceptTests {
    @Test func `a share's URL contains the server and the container`() async throws {
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

        // The server of the environment is none, and the container another one.
        let elsewhere = [
            "NEPHOS_URL": "http://127.0.0.1:1", "NEPHOS_CONTAINER": "iCloud.other", "NEPHOS_ENVIRONMENT": "production",
        ]
        let url = "http://127.0.0.1:\(client.port)/share/\(guid)#Title"
        let accepted = try await StartedNephos(["share", "accept", url, "--account", "bob"], environment: elsewhere)
            .finish()
        #expect(accepted.status == 0 && accepted.output.hasPrefix("accepted: zone Z of _"), "\(accepted)")
        #expect(accepted.output.hasSuffix(" in iCloud.test, READ_ONLY\n"))
        for option in [["--container", "iCloud.other"], ["--environment", "production"]] {
            let contrary = try await StartedNephos(["share", "accept", url] + option, environment: elsewhere).finish()
            #expect(contrary.status == 2 && contrary.errors.contains("is of a share in iCloud.test, development"))
        }
        let foreign = try await StartedNephos(
            ["share", "accept", "http://127.0.0.1:\(client.port)/share/none"], environment: elsewhere
        ).finish()
        #expect(foreign.status == 2 && foreign.errors.contains("has no container that the URL is of"), "\(foreign)")
        let gone = try await StartedNephos(["share", "accept", guid, "--account", "bob"], environment: elsewhere)
            .finish()
        #expect(gone.status == 1 && gone.errors.contains("no server answers at http://127.0.0.1:1"), "\(gone)")
        #expect(try await server.stop().status == 0)
    }

    @Test func `the account takes the key from the fragment of a share's URL`() async throws {
        try await withTemporaryDirectory { directory in
            let server = try StartedNephos(["dev", "--in-memory", "--require-approval", "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            func app(_ account: String) throws -> CKContainer {
                let environment = CloudKitEnvironment(
                    url: try #require(URL(string: "http://127.0.0.1:\(port)")), account: .token("dev:\(account)"),
                    keyDirectory: directory.appendingPathComponent(account))
                return CKContainer(identifier: "iCloud.test", service: environment.service(of: "iCloud.test"))
            }
            let zone = try await app("alice").privateCloudDatabase.save(CKRecordZone(zoneName: "Z"))
            let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
            root.encryptedValues["name"] = "Party"
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readOnly
            for result in try await app("alice").privateCloudDatabase.modifyRecords(
                saving: [root, share], deleting: []
            ).saveResults.values { _ = try result.get() }
            let url = try #require(share.url?.absoluteString)
            try #require(url.contains("#k="))

            func accept(_ account: String, _ url: String) async throws -> Finished {
                try await StartedNephos(
                    ["share", "accept", "-", "--account", account],
                    environment: ["NEPHOS_KEYS": directory.appendingPathComponent(account).path], input: typed(url)
                ).finish()
            }
            func name(_ account: String) async throws -> String? {
                let database = try app(account).sharedCloudDatabase
                let zone = try #require(try await database.allRecordZones().first)
                return try await database.record(for: CKRecord.ID(recordName: "root", zoneID: zone.zoneID))
                    .encryptedValues["name"]
            }
            let accepted = try await accept("bob", url)
            #expect(accepted.status == 0 && accepted.output.hasPrefix("accepted: zone Z of _"), "\(accepted)")
            #expect(try await name("bob") == "Party")
            // Neither what is no key, nor one that was cut, gives it.
            let titled = try await accept("carol", url.replacing(/#.*/, with: "#Party"))
            #expect(titled.status == 0, "\(titled)")
            let cut = try await accept("carol", String(url.dropLast(4)))
            #expect(cut.status == 1 && cut.errors.contains("the key in its URL was not taken"), "\(cut)")
            #expect(try await accept("carol", url).status == 0)
            #expect(try await name("carol") == "Party")
            #expect(try await server.stop().status == 0)
        }
    }
}
