import CloudKitLocal
import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

@Suite struct SyncEngineStateTests {
    private static func changes(_ text: String) -> [CKSyncEngine.PendingRecordZoneChange] {
        text.split(separator: " ").map { word in
            let recordID = CKRecord.ID(String(word.dropFirst()), "Z")
            return word.first == "+" ? .saveRecord(recordID) : .deleteRecord(recordID)
        }
    }

    /// `+a` saves a, `-a` deletes it.
    @Test(arguments: [
        ("+a +b +a", "+a +b"), ("+a -a", "-a"), ("-a +a", "+a"), ("+a +b -a", "-a +b"), ("+a -a +a", "+a"), ("", ""),
        ("-a -a", "-a"), ("+a +b +c -b +a", "+a -b +c"),
    ])
    func `of several changes to one record the last counts`(added: String, left: String) {
        for together in [true, false] {
            let state = CKSyncEngine.State(nil)
            if together {
                state.add(pendingRecordZoneChanges: Self.changes(added))
            } else {
                for change in Self.changes(added) { state.add(pendingRecordZoneChanges: [change]) }
            }
            #expect(state.pendingRecordZoneChanges == Self.changes(left))
        }
    }

    @Test func `of several changes to one zone the last counts`() {
        let state = CKSyncEngine.State(nil)
        let zone = CKRecordZone(zoneName: "A")
        state.add(pendingDatabaseChanges: [.saveZone(zone), .saveZone(CKRecordZone(zoneName: "A"))])
        #expect(state.pendingDatabaseChanges == [.saveZone(zone)])
        state.add(pendingDatabaseChanges: [.deleteZone(zone.zoneID)])
        #expect(state.pendingDatabaseChanges == [.deleteZone(zone.zoneID)])
        state.remove(pendingDatabaseChanges: [.saveZone(zone)])
        #expect(state.pendingDatabaseChanges == [.deleteZone(zone.zoneID)])
        state.remove(pendingDatabaseChanges: [.deleteZone(zone.zoneID)])
        #expect(state.pendingDatabaseChanges.isEmpty)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `a pending list behaves like an array`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var list = PendingList<CKSyncEngine.PendingRecordZoneChange>()
        var plain: [CKSyncEngine.PendingRecordZoneChange] = []
        for time in 1...2000 {
            let recordID = CKRecord.ID("n\(Int.random(in: 0..<150, using: &generator))", "Z")
            let change: CKSyncEngine.PendingRecordZoneChange =
                Bool.random(using: &generator) ? .saveRecord(recordID) : .deleteRecord(recordID)
            if Int.random(in: 0..<3, using: &generator) < 2 {
                list.add(change, at: UInt64(time))
                if let place = plain.firstIndex(where: { $0.recordID == recordID }) {
                    plain[place] = change
                } else {
                    plain.append(change)
                }
            } else {
                list.remove(change)
                plain.removeAll { $0 == change }
            }
        }
        #expect(list.changes == plain, "seed \(seed)")
        for change in plain { list.remove(change) }
        #expect(list.isEmpty)
    }

    @Test func `a state is one key with bytes, and unknown bytes are no state`() throws {
        let database = try CKContainer.local().privateCloudDatabase
        func engine(_ state: CKSyncEngine.State.Serialization?) -> CKSyncEngine {
            let delegate = SyncDevice()
            var configuration = CKSyncEngine.Configuration(
                database: database, stateSerialization: state, delegate: delegate)
            configuration.automaticallySync = false
            return CKSyncEngine(configuration)
        }
        for text in [#"{"data":""}"#, #"{"data":"AQ=="}"#, #"{"data":"e30="}"#] {
            let state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(text.utf8))
            #expect(engine(state).state.pendingRecordZoneChanges.isEmpty, "\(text)")
            #expect(try JSONEncoder().encode(state) == Data(#"{"data":""}"#.utf8), "\(text)")
        }
        for text in ["{}", #"{"data":5}"#, "[]", #""AQ==""#] {
            #expect(throws: DecodingError.self, "\(text)") {
                try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: Data(text.utf8))
            }
        }
        var content = CKSyncEngine.State.Content()
        content.records.add(.saveRecord(CKRecord.ID("a", "Z")), at: 0)
        let state = CKSyncEngine.State.Serialization(content)
        let json = try JSONEncoder().encode(state)
        let keys = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(keys.keys.sorted() == ["data"] && keys["data"] is String)
        let copies = [
            try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: json),
            try PropertyListDecoder().decode(
                CKSyncEngine.State.Serialization.self, from: PropertyListEncoder().encode(state)),
        ]
        for copy in copies {
            #expect(engine(copy).state.pendingRecordZoneChanges == [.saveRecord(CKRecord.ID("a", "Z"))])
            #expect(try JSONEncoder().encode(copy) == json)
        }
    }

    @Test func `a batch skips records that the provider lacks, and is nil without any`() async {
        let pending = Self.changes("+a +b -c")
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            recordID.recordName == "a" ? nil : CKRecord(recordType: "Note", recordID: recordID)
        }
        #expect(batch?.recordsToSave.map(\.recordID.recordName) == ["b"])
        #expect(batch?.recordIDsToDelete.map(\.recordName) == ["c"] && batch?.atomicByZone == false)
        #expect(await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: Self.changes("+a")) { _ in nil } == nil)
    }

    @Test func `a batch has as many shares as list the participants of one request`() async throws {
        let pending = Self.changes("+a +b +c +d +e +f +g +h +i +j +k +l +m +n +o +p +q +r +s +t +u +v")
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            let share = CKShare(
                rootRecord: CKRecord(recordType: "Note", recordID: recordID),
                shareID: CKRecord.ID(recordName: "share-\(recordID.recordName)", zoneID: recordID.zoneID))
            for _ in 0..<100 { share.addParticipant(CKShare.Participant.oneTimeURLParticipant()) }
            return share
        }
        let listed = batch?.recordsToSave.compactMap { ($0 as? CKShare)?.participants.count } ?? []
        let limit = ShareToModify.listedPerRequest
        #expect(listed.count < pending.count && listed.reduce(0, +) <= limit)
        #expect(listed.reduce(0, +) + (listed.first ?? 0) > limit)
    }

    @Test func `the delegate is asked for batches until it has none, whatever the state has`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        try await database.makeZones("Z")
        final class Delegate: CKSyncEngineDelegate {
            let outbox = Box((0..<5).map { CKRecord.ID("n\($0)", "Z") })
            let asked = Box(0)
            func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
                guard case .sentRecordZoneChanges(let sent) = event else { return }
                let saved = Set(sent.savedRecords.map(\.recordID))
                outbox.value.removeAll { saved.contains($0) }
            }
            func nextRecordZoneChangeBatch(
                _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
            ) async -> CKSyncEngine.RecordZoneChangeBatch? {
                asked.value += 1
                let next = outbox.value.prefix(2)
                guard !next.isEmpty else { return nil }
                return .init(recordsToSave: next.map { CKRecord(recordType: "Note", recordID: $0) })
            }
        }
        for pending in [0, 1] {
            let delegate = Delegate()
            var configuration = CKSyncEngine.Configuration(
                database: database, stateSerialization: nil, delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            let first = delegate.outbox.value.prefix(pending)
            engine.state.add(pendingRecordZoneChanges: first.map { .saveRecord($0) })
            try await engine.sendChanges()
            #expect(delegate.outbox.value.isEmpty && delegate.asked.value == 4)
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            _ = try await database.modifyRecords(saving: [], deleting: (0..<5).map { CKRecord.ID("n\($0)", "Z") })
        }
    }

    @Test func `a batch made by hand that is too large fails, and its changes stay pending`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        try await database.makeZones("Z")
        final class Delegate: CKSyncEngineDelegate {
            let asked = Box(0)
            let codes = Box<Set<CKError.Code>>([])
            func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
                guard case .sentRecordZoneChanges(let sent) = event else { return }
                codes.value.formUnion(sent.failedRecordSaves.map(\.error.code))
            }
            func nextRecordZoneChangeBatch(
                _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
            ) async -> CKSyncEngine.RecordZoneChangeBatch? {
                asked.value += 1
                if asked.value > 1 { return nil }
                return .init(
                    recordsToSave: (0..<401).map { CKRecord(recordType: "Note", recordID: CKRecord.ID("n\($0)", "Z")) })
            }
        }
        let delegate = Delegate()
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID("n0", "Z"))])
        await expectFailure(.limitExceeded) { try await engine.sendChanges() }
        #expect(delegate.codes.value == [.limitExceeded] && engine.state.pendingRecordZoneChanges.count == 1)
    }
}
