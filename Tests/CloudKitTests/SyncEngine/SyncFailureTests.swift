import CloudKit
import CloudKitLocal
import Testing

/// Failed changes: the failing run reports them, and the next one sends the app's repairs.
@Suite struct SyncFailureTests {
    private let cloud: LocalCloud
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    init() throws { cloud = try LocalCloud() }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(name, "Z") }

    private func device(automatically: Bool = false) -> SyncDevice {
        let device = SyncDevice()
        device.start(cloud.container().privateCloudDatabase, automatically: automatically)
        return device
    }

    /// A device that has sent a note.
    private func deviceWithNote() async throws -> SyncDevice {
        let device = device()
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        device.edit(id("a"), "first", at: 1)
        try await device.engine.sendChanges()
        return device
    }

    @Test func `a deleted zone fails a send, and the next one makes it again`() async throws {
        let one = try await deviceWithNote()
        try await one.engine.database.deleteRecordZone(withID: zoneID)
        one.edit(id("a"), "renamed", at: 2)
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        #expect(one.notes[id("a")]?.record == nil)
        try await one.engine.sendChanges()
        let two = device()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["a": "renamed"])
    }

    @Test func `a deleted record fails a send, and the next one makes it again`() async throws {
        let one = try await deviceWithNote()
        try await one.engine.database.deleteRecord(withID: id("a"))
        one.edit(id("a"), "renamed", at: 2)
        let error = await #expect(throws: CKError.self) { try await one.engine.sendChanges() }
        #expect(error?.code == .partialFailure)
        #expect((error?.partialErrorsByItemID?[id("a")] as? CKError)?.code == .unknownItem)
        #expect(one.notes[id("a")]?.record == nil)
        try await one.engine.sendChanges()
        let two = device()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["a": "renamed"])
    }

    @Test(arguments: [true, false]) func `a conflict fails a send, and the next one sends the app's choice`(
        winnerIsFirst: Bool
    ) async throws {
        let winner = try await deviceWithNote()
        let loser = device()
        try await loser.engine.fetchChanges()
        winner.edit(id("a"), "winner's", at: 3)
        loser.edit(id("a"), "loser's", at: 2)
        let (first, second) = winnerIsFirst ? (winner, loser) : (loser, winner)
        try await first.engine.sendChanges()
        #expect(first.engine.state.pendingRecordZoneChanges.isEmpty)
        await expectFailure(.partialFailure) { try await second.engine.sendChanges() }
        #expect(second.engine.state.pendingRecordZoneChanges.count == (winnerIsFirst ? 0 : 1))
        #expect(second.texts == ["a": "winner's"])
        try await second.engine.sendChanges()
        try await first.engine.fetchChanges()
        #expect(first.texts == ["a": "winner's"] && second.texts == first.texts)
    }

    @Test func `batches after a failed one wait for the next send`() async throws {
        let one = try await deviceWithNote()
        try await one.engine.database.deleteRecord(withID: id("a"))
        one.edit(id("a"), "renamed", at: 2)
        for number in 0..<443 { one.edit(id("n\(number)"), "new", at: 2) }
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        #expect(!one.engine.state.pendingRecordZoneChanges.isEmpty)
        try await one.engine.sendChanges()
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty)
        let two = device()
        try await two.engine.fetchChanges()
        #expect(two.texts == one.texts && two.texts.count == 444)
    }

    @Test func `an automatic engine sends repaired and waiting changes by itself`() async throws {
        let two = device(automatically: true)
        two.edit(id("a"), "no zone yet")
        for number in 0..<443 { two.edit(id("n\(number)"), "new") }
        let names = Set(["a"] + (0..<443).map { "n\($0)" })
        await two.wait { log in
            let sent = log.filter { $0.hasPrefix("sent [") }.joined(separator: " ")
            return names.isSubset(of: Set(sent.split(separator: "\"").map(String.init).filter { !$0.contains("!") }))
        }
        let one = device()
        try await one.engine.fetchChanges()
        #expect(one.texts.count == 444)
    }

    @Test func `deleting a missing zone fails a send`() async throws {
        let one = device()
        one.engine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
        one.edit(id("a"), "1")
        let error = await #expect(throws: CKError.self) { try await one.engine.sendChanges() }
        #expect((error?.partialErrorsByItemID?[zoneID] as? CKError)?.code == .zoneNotFound)
        #expect(one.engine.state.pendingDatabaseChanges.isEmpty)
        #expect(one.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
    }
}
