import CloudKit
import CloudKitLocal
import Testing

@Suite struct RealCodeStoreTests {
    private let container: CKContainer
    private let database: CKDatabase

    init() throws {
        container = try CKContainer.local()
        database = container.privateCloudDatabase
    }

    @Test func `a record stored as its system fields saves with its change tag`() async throws {
        let note = CKRecord(recordType: "Note")
        note["title"] = "first"
        try await database.save(note)
        let rebuilt = try #require(CKRecord(archivedData: note.encodedSystemFields))
        #expect(rebuilt.recordChangeTag == note.recordChangeTag && rebuilt.allKeys() == [])
        #expect(try CKRecord.decoded(from: note.encodedSystemFields)?.recordID == note.recordID)
        rebuilt["title"] = "second"
        try await database.save(rebuilt)
        #expect(try await database.record(for: note.recordID)["title"] == "second")
        let stale = try #require(CKRecord(archivedData: note.encodedSystemFields))
        stale["title"] = "third"
        await #expect { try await database.save(stale) } throws: { ($0 as? CKError)?.code == .serverRecordChanged }
        #expect(CKRecord(archivedData: Data("no archive".utf8)) == nil)
    }

    @Test func `records and IDs go through property lists, JSON and archives of whole records`() throws {
        let note = CKRecord(recordType: "Note", recordID: .random(in: CKRecordZone(zoneName: "Z")))
        note["title"] = "text"
        let whole = try #require(note.archived.flatMap(CKRecord.unarchived))
        #expect(whole["title"] == "text" && whole.recordID == note.recordID)
        let data = try JSONEncoder().encode(RecordMetadata(note))
        let metadata = try JSONDecoder().decode(RecordMetadata.self, from: data)
        #expect(metadata.recordID == note.recordID && metadata.zone.zoneID == note.recordID.zoneID)
        #expect(CKRecord(archivedData: metadata.systemFields)?.recordType == "Note")
    }

    @Test func `a Codable type round-trips through a record and the cloud`() async throws {
        struct Person: Codable, Equatable {
            var name: String
            var age: Int
            var height: Double
            var tags: [String]
        }
        let person = Person(name: "Mei", age: 30, height: 1.65, tags: ["a", "b"])
        let record = try RecordEncoder().encode(person, as: "Person")
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        #expect(try RecordEncoder().decode(Person.self, from: fetched) == person)
    }

    @Test func `a store works behind a protocol with an actor's cache`() async throws {
        let note = try await database.save(CKRecord(recordType: "Note"))
        let store = CachedStore(database)
        #expect(try await store.record(note.recordID).recordID == note.recordID)
        #expect(try await store.record(note.recordID).recordID == note.recordID)
        #expect(await store.misses == 1)
        let provider: any AccountProvider = container
        #expect(try await provider.accountStatus() == .available)
        #expect(try await provider.userRecordID().zoneID == .default)
        #expect(provider.database(with: .private) === database && provider.containerIdentifier == "iCloud.local")
    }

    @MainActor @Test func `a model on the main actor makes its zone, saves, renames and reloads`() async throws {
        let model = NotesModel(container: container)
        try await model.prepare()
        try await model.prepare()
        let note = try await model.add("first")
        try await model.add("second")
        #expect(model.titles == ["first", "second"])
        try await model.rename(note.recordID, to: "renamed")
        try await model.reload([note.recordID, CKRecord.ID(recordName: "missing", zoneID: note.recordID.zoneID)])
        #expect(model.titles == ["renamed"])
    }

    @Test func `operations and handlers work behind continuations`() async throws {
        let notes = (1...5).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-\($0)")) }
        let ids = notes.map(\.recordID)
        #expect(try await Continuations.save(notes, to: database).map(\.recordID) == ids)
        await #expect(throws: CKError.self) {
            try await Continuations.save([CKRecord(recordType: "Note", recordID: ids[0])], to: database)
        }
        #expect(try await Continuations.fetch(ids[0], from: database).recordChangeTag != nil)
        let missing = CKRecord.ID(recordName: "missing")
        await #expect { try await Continuations.fetch(missing, from: database) } throws: { CKError.unknownItem ~= $0 }
        #expect(try await Set(Continuations.inParallel(ids, from: database).keys) == Set(ids))
        var streamed: [CKRecord.ID] = []
        for try await record in Continuations.stream(ids, from: database, page: 2) { streamed.append(record.recordID) }
        #expect(streamed == ids)
        #expect(try await Set(Continuations.delete([ids[0], ids[1]], from: database)) == [ids[0], ids[1]])
        let results = try await database.records(for: ids, desiredKeys: [])
        #expect(results.values.filter { (try? $0.get()) != nil }.count == 3)
    }

    @Test func `the cloud's errors can be cast in every usual way`() async throws {
        let missing = CKRecord.ID(recordName: "missing")
        do {
            _ = try await database.record(for: missing)
            Issue.record("found")
        } catch {
            #expect(!Diagnosis.isCloudKit(error, .unknownItem).contains(false))
            #expect(Diagnosis.name(error) == "unknown")
        }
        do throws(any Error) {
            try await database.save(CKRecord(recordType: "Note", recordID: missing))
            try await database.save(CKRecord(recordType: "Note", recordID: missing))
            Issue.record("saved twice")
        } catch CKError.serverRecordChanged {
        } catch {
            Issue.record(error)
        }
        switch try await database.records(for: [CKRecord.ID(recordName: "none")]).first?.value {
        case .failure(CKError.unknownItem): break
        case let other: Issue.record("\(String(describing: other))")
        }
    }
}
