import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// What the dashboard shows of encrypted fields and sealed files of an app, and what its saves leave of them.
@Suite final class DashboardEncryptionTests {
    private static let identifier = "iCloud.org.example.Sealed"
    private static let zoneID = CKRecordZone.ID(zoneName: "Lists")
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("seal-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// A record with a clear field, an encrypted one and a sealed file, saved by an app.
    private func database(_ port: UInt16) async throws -> CKDatabase {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        let environment = CloudKitEnvironment(
            url: url, account: .token("dev:mei"), keyDirectory: directory.appendingPathComponent("keys"))
        let database = CKContainer(
            identifier: Self.identifier, service: environment.service(of: Self.identifier)
        ).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appendingPathComponent("file")
        try Data("the content of a file".utf8).write(to: file)
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "a", zoneID: Self.zoneID))
        record["title"] = "clear"
        record.encryptedValues["note"] = "secret words"
        record["file"] = CKAsset(fileURL: file)
        _ = try await database.save(record)
        return database
    }

    /// The record as the dashboard reads it.
    private func shown(_ connection: TestConnection) async throws -> (text: String, fields: [String: [String: Any]]) {
        let place = "/nephos/1/\(Self.identifier)/development"
        let body = #"{"database":"private","account":"mei","zoneName":"Lists","recordName":"a"}"#
        let answer = try await connection.request("POST", "\(place)/records/show", body: body)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let records = try #require(json["records"] as? [[String: Any]])
        return (answer.text, try #require(records.first?["fields"] as? [String: [String: Any]]))
    }

    private func save(_ operation: String, _ connection: TestConnection) async throws {
        let target =
            "/database/1/\(Self.identifier)/development/private/records/modify?ckAPIToken=dashboard&ckWebAuthToken=dev:mei"
        let body = #"{"zoneID":{"zoneName":"Lists"},"operations":[\#(operation)]}"#
        let answer = try await connection.request("POST", target, body: body)
        #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
    }

    @Test func `encrypted fields and sealed files show as such, and saves of other fields keep them`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let database = try await database(port)
        let connection = try TestConnection(port: port)
        let (text, before) = try await shown(connection)
        #expect(!text.contains("secret words"))
        #expect(
            (before["note"]?["type"] as? String)?.hasPrefix("ENCRYPTED_") == true
                || before["note"]?["isEncrypted"] != nil)
        #expect((before["file"]?["value"] as? [String: Any])?["nephosSeal"] != nil)
        let changed = #""record":{"recordName":"a","recordType":"Item","fields":{"title":{"value":"new"}}"#
        try await save(#"{"operationType":"forceUpdate",\#(changed)}}"#, connection)
        try await save(
            #"{"operationType":"forceReplace",\#(changed),"nephosKeep":["note","file"]}}"#, connection)
        let (_, after) = try await shown(connection)
        #expect(after["title"]?["value"] as? String == "new")
        #expect(after["note"]?["value"] as? String == before["note"]?["value"] as? String)
        let record = try await database.record(for: CKRecord.ID(recordName: "a", zoneID: Self.zoneID))
        #expect(record.encryptedValues["note"] as? String == "secret words")
        let file = try #require((record["file"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: file) == Data("the content of a file".utf8))
    }
}
