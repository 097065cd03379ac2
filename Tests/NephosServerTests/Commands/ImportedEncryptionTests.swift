import Foundation
import Testing

@testable import CloudKit

/// Encrypted fields that `nephos export` omits, and their import.
@Suite struct ImportedEncryptionTests {
    private static let identifier = "iCloud.org.example.Sealed"
    private static let zoneID = CKRecordZone.ID(zoneName: "Diary")

    private static func started() async throws -> (StartedNephos, String) {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        return (server, "http://127.0.0.1:\(try readyPort(try await server.readyLine()))")
    }

    private static func database(_ url: String) throws -> CKDatabase {
        let environment = CloudKitEnvironment(url: try #require(URL(string: url)), account: .token("dev:me"))
        return CKContainer(identifier: identifier, service: environment.service(of: identifier)).privateCloudDatabase
    }

    private static func nephos(_ arguments: String...) async throws -> Finished {
        let finished = try await StartedNephos(arguments).finish()
        #expect(finished.status == 0, "\(finished.errors)")
        return finished
    }

    private static func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    @Test func `an existing record keeps fields that the export omitted, and the import says so`() async throws {
        try await withTemporaryDirectory { directory in
            let (server, url) = try await Self.started()
            let database = try Self.database(url)
            _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
            let (picture, file) = (
                directory.appendingPathComponent("picture"), directory.appendingPathComponent("export")
            )
            try Data("picture".utf8).write(to: picture)
            let record = CKRecord(recordType: "Page", recordID: Self.id("a"))
            record["title"] = "first"
            record["mood"] = "good"
            record.encryptedValues["text"] = "secret"
            record["picture"] = CKAsset(fileURL: picture)
            let plain = CKRecord(recordType: "Page", recordID: Self.id("b"))
            plain["title"] = "plain"
            for record in [record, plain] { _ = try await database.save(record) }
            _ = try await Self.nephos(
                "export", "--url", url, "--container", Self.identifier, "--account", "me", "--output", file.path)
            let lines = try String(contentsOf: file, encoding: .utf8)
            #expect(lines.contains(#""nephosKeep":["picture","text"]"#) && !lines.contains("secret"), "\(lines)")
            record["title"] = "second"
            record["mood"] = nil
            record["place"] = "home"
            record.encryptedValues["text"] = "newer secret"
            for record in [record, plain] { record["place"] = "home" }
            for record in [record, plain] { _ = try await database.save(record) }
            let summary = try await Self.nephos("import", "--url", url, file.path).errors
            #expect(
                summary.contains("2 records imported") && summary.contains("2 fields that the export left out"),
                "\(summary)")
            // As a process has it that has just begun.
            let after = try await Self.database(url).record(for: Self.id("a"))
            #expect(after["title"] as? String == "first" && after["mood"] as? String == "good")
            #expect(after["place"] == nil, "what the export had not, and could have had")
            #expect(after.encryptedValues["text"] as? String == "newer secret")
            let asset = try #require(after["picture"] as? CKAsset)
            #expect(try Data(contentsOf: try #require(asset.fileURL)) == Data("picture".utf8))
            #expect(try await database.record(for: Self.id("b")).allKeys() == ["title"])
            // Where it is not there, there is nothing to keep.
            let (other, otherURL) = try await Self.started()
            let fresh = try await Self.nephos("import", "--url", otherURL, file.path).errors
            #expect(fresh.contains("2 records imported") && !fresh.contains("left out"), "\(fresh)")
            #expect(
                try await Self.database(otherURL).record(for: Self.id("a")).allKeys().sorted() == ["mood", "title"])
            for server in [server, other] { #expect(try await server.stop().status == 0) }
        }
    }

    @Test func `a zone's encryption scope is restored, and an existing zone reports that it keeps its own`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("export").path
            let (first, url) = try await Self.started()
            let zone = CKRecordZone(zoneID: Self.zoneID)
            zone.encryptionScope = .perZone
            _ = try await Self.database(url).save(zone)
            _ = try await Self.database(url).save(CKRecordZone(zoneName: "Usual"))
            for options in [[], ["--zone", "Diary"]] {
                let export =
                    ["export", "--url", url, "--container", Self.identifier, "--account", "me", "--output", file]
                #expect(try await StartedNephos(export + options).finish().status == 0)
                let (second, other) = try await Self.started()
                let summary = try await Self.nephos("import", "--url", other, file)
                #expect(!summary.errors.contains("encryption scope"), "\(summary)")
                let scopes = try await Self.database(other).allRecordZones().map {
                    "\($0.zoneID.zoneName) \($0.encryptionScope == .perZone)"
                }.filter { !$0.hasPrefix("_") }
                #expect(scopes.sorted() == (options.isEmpty ? ["Diary true", "Usual false"] : ["Diary true"]))
                #expect(try await second.stop().status == 0)
            }
            let (third, thirdURL) = try await Self.started()
            _ = try await Self.database(thirdURL).save(CKRecordZone(zoneID: Self.zoneID))
            let summary = try await Self.nephos("import", "--url", thirdURL, file)
            #expect(summary.errors.contains("zone 'Diary' is there already and keeps its encryption scope"))
            for server in [first, third] { #expect(try await server.stop().status == 0) }
        }
    }
}
