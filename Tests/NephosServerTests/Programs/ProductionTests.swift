import CloudKit
import Foundation
import Testing

@testable import NephosServer

/// A production server as its operator and two people use it, through TLS.
@Suite struct ProductionTests {
    private func note(_ text: String, in zone: CKRecordZone.ID = .default, name: String = "note") -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["text"] = text
        return record
    }

    @Test func `two people save and fetch their own, and a kill loses nothing`() async throws {
        try await withTemporaryDirectory { directory in
            let production = try await StartedProduction(in: directory)
            let apiToken = try await production.prepare("ada@example.org", "bob@example.org")
            let (ada, bob) = (
                try await production.device("ada@example.org", apiToken),
                try await production.device("bob@example.org", apiToken)
            )
            _ = try await ada.privateCloudDatabase.save(note("Ada's"))
            _ = try await bob.privateCloudDatabase.save(note("Bob's"))
            try await production.killAndStart()
            let id = CKRecord.ID(recordName: "note")
            #expect(try await ada.privateCloudDatabase.record(for: id)["text"] == "Ada's")
            #expect(try await bob.privateCloudDatabase.record(for: id)["text"] == "Bob's")
            #expect(try await ada.userRecordID() != bob.userRecordID())
            #expect(try await ada.accountStatus() == .available)
            // A session that ended is over at the next request, and the other person's goes on.
            try await production.command("sessions", "end", "ada@example.org")
            await #expect(throws: CKError.self) { try await ada.privateCloudDatabase.record(for: id) }
            #expect(try await ada.accountStatus() == .temporarilyUnavailable)
            _ = try await bob.privateCloudDatabase.record(for: id)
            #expect(try await production.server.stop().status == 0)
        }
    }

    @Test func `a container is administered by the data directory of a running and of a stopped server`() async throws {
        try await withTemporaryDirectory { directory in
            let production = try await StartedProduction(in: directory)
            let apiToken = try await production.prepare("ada@example.org")
            try await production.command("containers", "create", "iCloud.other")
            let ada = try await production.device("ada@example.org", apiToken)
            _ = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Lists"))
            let schema = directory.appending(path: "schema.ckdb")
            try Data("DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (t STRING QUERYABLE);".utf8)
                .write(to: schema)
            func administer(
                _ words: String..., in container: String = StartedProduction.container, status: Int32 = 0
            ) async throws -> String {
                try await production.command(words + ["--container", container], status: status)
            }
            func zones() async throws -> String {
                try await administer("zones", "list", "--account", "ada@example.org")
            }
            _ = try await administer("schema", "import", schema.path)
            #expect(try await zones().contains("Lists"))
            #expect(try await administer("schema", "export").contains("RECORD TYPE Note"))
            #expect(try await !administer("schema", "export", in: "iCloud.other").contains("RECORD TYPE Note"))
            _ = try await administer("roles", "assign", "--account", "ada@example.org", "Curator")
            let refused = try await administer("query", "Note", "--account", "ada@example.org", status: 1)
            #expect(refused.contains("the server is running"))
            #expect(try await production.server.stop().status == 0)
            #expect(try await zones().contains("Lists"))
            #expect(try await administer("roles", "list").contains("ada@example.org"))
        }
    }

    @Test func `who is not let in gets the error that Apple's service gives`() async throws {
        try await withTemporaryDirectory { directory in
            let production = try await StartedProduction(in: directory)
            let apiToken = try await production.prepare("ada@example.org")
            let token = try await production.command(
                "sessions", "create", "ada@example.org", "--container", StartedProduction.container)
            let id = CKRecord.ID(recordName: "note")
            let unknown = try production.device(token: token, String(repeating: "0", count: 64), keys: "a")
            let forged = try production.device(token: String(repeating: "A", count: 66), apiToken, keys: "b")
            for device in [unknown, forged] {
                let error = try await #require(throws: CKError.self) {
                    try await device.privateCloudDatabase.record(for: id)
                }
                #expect(error.code == .notAuthenticated)
            }
            // Without a role the schema does not grow by saving.
            try await production.command(
                "admins", "revoke", "ada@example.org", "--container", StartedProduction.container)
            let ada = try production.device(token: token, apiToken, keys: "c")
            let error = try await #require(throws: CKError.self) { try await ada.privateCloudDatabase.save(note("x")) }
            #expect(error.code == .invalidArguments)
            #expect(try await production.server.stop().status == 0)
        }
    }

    @Test func `a person shares a record with another by address, and with no third`() async throws {
        try await withTemporaryDirectory { directory in
            let production = try await StartedProduction(in: directory)
            let apiToken = try await production.prepare("ada@example.org", "bob@example.org", "eve@example.org")
            let ada = try await production.device("ada@example.org", apiToken)
            let zone = try await ada.privateCloudDatabase.save(CKRecordZone(zoneName: "Lists"))
            let list = note("milk", in: zone.zoneID, name: "list")
            list.encryptedValues["secret"] = "and cheese"
            let share = CKShare(rootRecord: list)
            let participant = try await ada.shareParticipant(forEmailAddress: "Bob@Example.org")
            participant.permission = .readWrite
            share.addParticipant(participant)
            let saved = try await ada.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
            let stored = try #require(try saved.saveResults[share.recordID]?.get() as? CKShare)
            let url = try #require(stored.url)
            #expect(url.absoluteString.hasPrefix("\(production.url)/share/"))

            let eve = try await production.device("eve@example.org", apiToken)
            let refused = try? await eve.accept(try await eve.shareMetadata(for: url))
            #expect(refused == nil)
            let bob = try await production.device("bob@example.org", apiToken)
            let metadata = try await bob.shareMetadata(for: url)
            _ = try await bob.accept(metadata)
            let root = try #require(metadata.hierarchicalRootRecordID)
            let seen = try await bob.sharedCloudDatabase.record(for: root)
            #expect(seen["text"] == "milk")
            #expect(seen.encryptedValues["secret"] == "and cheese")
            seen["text"] = "bread"
            _ = try await bob.sharedCloudDatabase.save(seen)
            #expect(try await ada.privateCloudDatabase.record(for: list.recordID)["text"] == "bread")
            await #expect(throws: CKError.self) { try await eve.sharedCloudDatabase.record(for: root) }
            // What Ada sees of Bob is the address that she wrote.
            let after = try #require(try await ada.privateCloudDatabase.record(for: share.recordID) as? CKShare)
            let others = after.participants.filter { $0.role != .owner }
            #expect(others.map(\.userIdentity.lookupInfo?.emailAddress) == ["Bob@Example.org"])
            #expect(others.allSatisfy { $0.userIdentity.nameComponents?.givenName == nil })
            #expect(try await production.server.stop().status == 0)
        }
    }

    @Test func `a second server on the data, and one of nephos dev, are refused`() async throws {
        try await withTemporaryDirectory { directory in
            let production = try await StartedProduction(in: directory)
            let second = try await StartedNephos([
                "serve", "--data", production.data, "--url", production.url, "--listen", "127.0.0.1:0",
            ]).finish()
            #expect(second.status == 1 && !second.errors.isEmpty, "\(second.errors)")
            #expect(try await production.server.stop().status == 0)
            let dev = try await StartedNephos(["dev", "--port", "0", "--data", production.data]).finish()
            #expect(dev.status == 1 && dev.errors.contains("nephos serve"))
            let other = directory.appendingPathComponent("dev").path
            let started = try StartedNephos(["dev", "--port", "0", "--data", other])
            let port = try readyPort(try await started.readyLine())
            let connection = try TestConnection(port: port)
            _ = try await connection.request(
                "POST", "/database/1/iCloud.a/development/private/zones/modify?ckWebAuthToken=dev:ada",
                body: #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
            #expect(try await started.stop().status == 0)
            let serve = try await StartedNephos([
                "serve", "--data", other, "--url", production.url, "--listen", "127.0.0.1:0",
            ]).finish()
            #expect(serve.status == 1 && serve.errors.contains("nephos dev"))
        }
    }

    @Test func `plain HTTP beyond the loopback, and options that contradict each other, are refused in words`()
        async throws
    {
        for (arguments, words) in [
            (["--listen", "0.0.0.0:0"], "plain HTTP"), (["--tls-cert", "a.pem"], "go together"),
            (["--listen", "0.0.0.0:0", "--behind-proxy", "--tls-cert", "a", "--tls-key", "b"], "exclude each other"),
            (["--tls-cert", "none.pem", "--tls-key", "none.pem"], "none.pem"),
            (["--trust-proxy", "localhost"], "localhost"),
            (["--url", "https://a.org/path"], "given twice"), (["--drain", "1w"], "10m"),
        ] {
            let finished = try await StartedNephos(["serve", "--url", "https://a.org"] + arguments).finish()
            #expect(finished.status == 2 && finished.errors.contains(words), "\(arguments): \(finished.errors)")
        }
        let without = try await StartedNephos(["serve"]).finish()
        #expect(without.status == 2 && without.errors.contains("--url"))
    }
}
