import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// `.cloud(schema:)`: each container begins with the schema, and saves add nothing to it.
@Suite struct CloudSchemaTests {
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note ( title STRING QUERYABLE );
        """

    private func save(_ fields: [String: String], type: String = "Note", _ container: CKContainer) async throws {
        let record = CKRecord(recordType: type)
        for (name, value) in fields { record[name] = value }
        try await container.privateCloudDatabase.save(record)
    }

    private func expectRefusal(_ words: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            Issue.record("nothing was refused")
        } catch {
            #expect((error as? CKError)?.code == .invalidArguments && "\(error)".contains(words), "\(error)")
        }
    }

    @Test(.cloud(schema: schema), arguments: 0..<2)
    func `every container has the schema alone`(_ turn: Int) async throws {
        let named = ["iCloud.org.example.One", "iCloud.org.example.Two"].map(CKContainer.init(identifier:))
        let containers = [CKContainer.default()] + named + [try LocalCloud.current.container(account: "tom")]
        for container in turn == 0 ? containers : containers.reversed() {
            await expectRefusal("Cannot create new type Memo") { try await save([:], type: "Memo", container) }
            try await save(["title": "Milk"], container)
            await expectRefusal("Cannot create or modify field 'stars'") {
                try await save(["stars": "5"], container)
            }
        }
    }

    @Test func `an import of the test changes the schema, also before the first request`() async throws {
        try await withCloud(schema: Self.schema) { cloud in
            try await cloud.importSchema("DEFINE SCHEMA RECORD TYPE Note ( title STRING, stars STRING );")
            try await save(["title": "Milk", "stars": "5"], CKContainer.default())
            #expect(try await cloud.exportSchema().contains("stars "))
        }
    }

    @Test func `a schema is read from a file`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).ckdb")
        try Self.schema.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withCloud(schema: file.path) { _ in try await save(["title": "Milk"], CKContainer.default()) }
        await #expect(throws: LocalCloudError.self) { try await withCloud(schema: file.path + ".none") { _ in } }
    }

    @Test func `a schema that breaks a rule is refused with its place`() async {
        do {
            try await withCloud(schema: "DEFINE SCHEMA RECORD TYPE Note ( title TEXT );") { _ in }
            Issue.record("the schema was accepted")
        } catch {
            #expect("\(error)".hasPrefix("line 1, column 40: "), "\(error)")
        }
    }
}
