import CloudKit
import CloudKitTesting
import Testing

@Suite struct SyncEngineTests {
    private let cloud: LocalCloud
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    init() throws { cloud = try LocalCloud() }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(name, "Z") }

    private func device(_ disk: SyncDevice.Disk = .init(), on container: CKContainer? = nil) -> SyncDevice {
        let device = SyncDevice(disk)
        device.start((container ?? cloud.container()).privateCloudDatabase)
        return device
    }

    private func addZone(_ device: SyncDevice) {
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
    }

    // MARK: Sending and fetching

    @Test func `zones are sent before records, and every step is reported in order`() async throws {
        let one = device()
        one.edit(id("a"), "1")
        addZone(one)
        try await one.engine.sendChanges()
        #expect(
            one.log == [
                "account in", "will send manual", "sent zones [\"Z\"] failed []", "sent [\"a\"] failed []", "did send",
            ])
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty && one.engine.state.pendingDatabaseChanges.isEmpty)

        let two = device()
        try await two.engine.fetchChanges()
        #expect(
            two.log == [
                "account in", "will fetch manual", "zones [\"Z\"]", "will fetch zone Z", "fetched [\"a\"]",
                "did fetch zone Z", "did fetch",
            ])
        #expect(two.texts == ["a": "1"])
        two.clearLog()
        try await two.engine.fetchChanges()
        #expect(two.log == ["will fetch manual", "did fetch"])
    }

    @Test func `two devices converge on the same notes, with conflicts resolved by the app`() async throws {
        let (one, two) = (device(), device())
        addZone(one)
        one.edit(id("a"), "one", at: 1)
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        one.edit(id("a"), "one again", at: 2)
        two.edit(id("a"), "two", at: 3)
        two.edit(id("b"), "new", at: 3)
        try await one.engine.sendChanges()
        two.clearLog()
        await expectFailure(.partialFailure) { try await two.engine.sendChanges() }
        #expect(two.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        try await two.engine.sendChanges()
        #expect(
            two.log == [
                "will send manual", "sent [\"b\"] failed [\"a!14\"]", "did send",
                "will send manual", "sent [\"a\"] failed []", "did send",
            ])
        try await one.engine.fetchChanges()
        #expect(one.texts == ["a": "two", "b": "new"] && two.texts == one.texts)
        one.delete(id("a"))
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["b": "new"])
    }

    @Test func `the app makes a missing zone, and then its records are sent`() async throws {
        let one = device()
        one.edit(id("a"), "1")
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        #expect(one.log.dropFirst(2) == ["sent [] failed [\"a!26\"]", "did send"])
        one.clearLog()
        try await one.engine.sendChanges()
        #expect(
            one.log == [
                "will send manual", "sent zones [\"Z\"] failed []", "sent [\"a\"] failed []", "did send",
            ])
    }

    @Test func `a deleted zone removes its local records`() async throws {
        let (one, two) = (device(), device())
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        one.engine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
        try await one.engine.sendChanges()
        #expect(one.log.suffix(2) == ["sent zones [\"-Z\"] failed []", "did send"])
        two.clearLog()
        try await two.engine.fetchChanges()
        #expect(two.log == ["will fetch manual", "zones [\"-Z\"]", "did fetch"] && two.texts.isEmpty)
    }

    @Test func `a zone that an engine deletes and saves anew has no token of the former one`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        try await one.engine.fetchChanges()
        one.deleteZone(zoneID)
        try await one.engine.sendChanges()
        addZone(one)
        one.edit(id("b"), "2")
        try await one.engine.sendChanges()
        one.clearLog()
        try await one.engine.fetchChanges()
        #expect(!one.log.contains { $0.contains("changeTokenExpired") }, "\(one.log)")
        #expect(one.texts == ["b": "2"])
    }

    @Test func `a thousand changes are sent in batches within the request limit`() async throws {
        let one = device()
        addZone(one)
        for number in 0..<900 { one.edit(id("n\(number)"), "x") }
        try await one.engine.sendChanges()
        #expect(one.log.filter { $0.hasPrefix("sent [") }.count == 3)
        let large = String(repeating: "x", count: 900_000)
        one.clearLog()
        for name in ["a", "b", "c"] { one.edit(id(name), large) }
        try await one.engine.sendChanges()
        #expect(
            one.log == [
                "will send manual", "sent [\"a\"] failed []", "sent [\"b\"] failed []", "sent [\"c\"] failed []",
                "did send",
            ])
        let two = device()
        try await two.engine.fetchChanges()
        #expect(two.notes.count == 903)
    }

    @Test func `a record that is edited while it is being sent is sent again`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "first")
        let held = cloud.hold(.save)
        async let sending: Void = one.engine.sendChanges()
        try await held.arrived()
        one.edit(id("a"), "second")
        held.release()
        try await sending
        #expect(one.log.suffix(3) == ["sent [\"a\"] failed []", "sent [\"a\"] failed []", "did send"])
        let two = device()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["a": "second"])
    }

    @Test func `a scope limits sending and fetching`() async throws {
        let one = device()
        for zone in ["A", "B", "C"] {
            one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: zone))])
            one.edit(CKRecord.ID("in\(zone)", zone), "x")
        }
        let b = CKRecordZone.ID(zoneName: "B")
        try await one.engine.sendChanges(.init(scope: .zoneIDs([b])))
        #expect(one.log.dropFirst(2) == ["sent zones [\"B\"] failed []", "sent [\"inB\"] failed []", "did send"])
        try await one.engine.sendChanges(.init(scope: .allExcluding([CKRecordZone.ID(zoneName: "C")])))
        try await one.engine.sendChanges(.init(scope: .recordIDs([CKRecord.ID("inC", "C")])))
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty)

        let two = device()
        try await two.engine.fetchChanges(.init(scope: .zoneIDs([b])))
        #expect(two.texts.keys.sorted() == ["inB"])
        #expect(Set(two.engine.state.zoneIDsWithUnfetchedServerChanges.map(\.zoneName)) == ["A", "C"])
        two.clearLog()
        two.fetchOptions.value = { context in
            var options = context.options
            options.prioritizedZoneIDs = [CKRecordZone.ID(zoneName: "C")]
            return options
        }
        try await two.engine.fetchChanges()
        #expect(two.log.filter { $0.hasPrefix("will fetch zone") } == ["will fetch zone C", "will fetch zone A"])
        #expect(two.notes.count == 3 && two.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    @Test func `untracked changes are requested until there are no more`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        one.engine.state.hasPendingUntrackedChanges = true
        one.clearLog()
        try await one.engine.sendChanges()
        #expect(one.log == ["will send manual", "did send"] && !one.engine.state.hasPendingUntrackedChanges)
    }

    // MARK: Trouble

    @Test func `an expired token is dropped, the app is notified, and everything is fetched again`() async throws {
        let (one, two) = (device(), device())
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        let database = cloud.container().privateCloudDatabase
        try await database.deleteRecordZone(withID: zoneID)
        try await database.save(CKRecordZone(zoneID: zoneID))
        try await database.put("b", zone: "Z")
        two.clearLog()
        try await two.engine.fetchChanges()
        #expect(
            two.log == [
                "will fetch manual", "zones [\"Z\"]", "will fetch zone Z",
                "did fetch zone Z!\(CKError.Code.changeTokenExpired.rawValue)", "will fetch zone Z", "fetched [\"b\"]",
                "did fetch zone Z", "did fetch",
            ])
        #expect(two.texts == ["b": ""])
    }

    @Test func `zones with purged tombstones are reported as deleted when the list of all zones lacks them`()
        async throws
    {
        let (one, two) = (device(), device())
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        let database = cloud.container().privateCloudDatabase
        try await database.deleteRecordZone(withID: zoneID)
        try await database.makeZones("Other")
        await cloud.settle()
        try await cloud.forgetDeletions()
        two.clearLog()
        try await two.engine.fetchChanges()
        #expect(
            two.log == [
                "will fetch manual", "zones [\"Other\"]", "zones [\"-Z\"]", "will fetch zone Other",
                "did fetch zone Other", "did fetch",
            ])
        #expect(two.texts.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a zone that was only sent to and is missing from the list of all zones is reported as deleted`(restarts: Bool)
        async throws
    {
        let (one, two) = (device(), device())
        let database = cloud.container().privateCloudDatabase
        try await database.makeZones("Z")
        // What it has of the zone comes from a conflict.
        one.edit(id("a"), "1", at: 2)
        try await one.engine.sendChanges()
        two.edit(id("a"), "2", at: 1)
        await expectFailure(.partialFailure) { try await two.engine.sendChanges() }
        #expect(two.texts == ["a": "1"])
        try await database.deleteRecordZone(withID: zoneID)
        try await database.makeZones("Other")
        await cloud.settle()
        try await cloud.forgetDeletions()
        if restarts {
            await two.engine.handOutState()
            let disk = two.stop()
            two.start(database)
            #expect(disk.state != nil)
        }
        two.clearLog()
        try await two.engine.fetchChanges()
        #expect(
            two.log == [
                "will fetch manual", "zones [\"Other\"]", "zones [\"-Z\"]", "will fetch zone Other",
                "did fetch zone Other", "did fetch",
            ])
        #expect(two.texts.isEmpty)
    }

    @Test func `the reasons of deleted zones are the user's`() async throws {
        let one = device()
        let database = cloud.container().privateCloudDatabase
        try await database.makeZones("A", "B", "C")
        try await one.engine.fetchChanges()
        let reasons = Box<[String: CKDatabase.DatabaseChange.Deletion.Reason]>([:])
        one.onEvent.value = { event in
            guard case .fetchedDatabaseChanges(let event) = event else { return }
            for deletion in event.deletions { reasons.value[deletion.zoneID.zoneName] = deletion.reason }
        }
        try await cloud.removeZones([CKRecordZone.ID(zoneName: "A")], reason: .purged)
        try await cloud.removeZones([CKRecordZone.ID(zoneName: "B")], reason: .encryptedDataReset)
        try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "C"))
        try await one.engine.fetchChanges()
        #expect(reasons.value == ["A": .purged, "B": .encryptedDataReset, "C": .deleted])
    }

    @Test func `a fetch of several batches has no record twice although it changes meanwhile`() async throws {
        let database = cloud.container().privateCloudDatabase
        try await database.makeZones("Z")
        let records = (0..<300).map { CKRecord(recordType: "Note", recordID: id("n\($0)")) }
        try await database.saveAll(records)
        let one = device()
        let (fetched, isFirst) = (Box<[String]>([]), Box(true))
        one.onEvent.value = { event in
            guard case .fetchedRecordZoneChanges(let event) = event else { return }
            fetched.value += event.modifications.map(\.record.recordID.recordName)
            guard isFirst.value else { return }
            isFirst.value = false
            try? await database.put("n0", "n299", zone: "Z", text: "new")
        }
        try await one.engine.fetchChanges()
        #expect(fetched.value.count == 299 && Set(fetched.value).count == 299 && !fetched.value.contains("n299"))
        fetched.value = []
        try await one.engine.fetchChanges()
        #expect(fetched.value.sorted() == ["n0", "n299"] && one.texts["n0"] == "new")
    }

    @Test func `a change that fails for the network stays pending, and the caller gets the error`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        cloud.fail(.save, with: .networkFailure)
        await expectFailure(.networkFailure) { try await one.engine.sendChanges() }
        #expect(one.log.suffix(2) == ["sent [] failed [\"a!4\"]", "did send"])
        #expect(one.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
        cloud.fail(.changes, zone: "Z", with: .networkFailure)
        try await one.engine.sendChanges()
        one.clearLog()
        await expectFailure(.networkFailure) { try await one.engine.fetchChanges() }
        #expect(one.log.suffix(3) == ["will fetch zone Z", "did fetch zone Z!4", "did fetch"])
        try await one.engine.fetchChanges()
        #expect(one.log.suffix(3) == ["fetched [\"a\"]", "did fetch zone Z", "did fetch"])
    }

    @Test func `a lost answer loses no change`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        cloud.fail(.save, at: .afterCommit, with: .networkFailure)
        await expectFailure(.networkFailure) { try await one.engine.sendChanges() }
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        #expect(one.log.suffix(3) == ["will send manual", "sent [] failed [\"a!14\"]", "did send"])
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty)
        one.edit(id("a"), "2", at: 1)
        try await one.engine.sendChanges()
        #expect(one.log.suffix(2) == ["sent [\"a\"] failed []", "did send"])
    }

    @Test func `cancelling stops a send and keeps its changes pending`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        let held = cloud.hold(.save)
        let sending = Task { try await one.engine.sendChanges() }
        try await held.arrived()
        await one.engine.cancelOperations()
        held.release()
        await expectFailure(.operationCancelled) { try await sending.value }
        #expect(one.log.last == "did send")
        #expect(one.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
    }

    // MARK: Keeping the state

    @Test func `an engine resumes from its predecessor's state`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        try await one.engine.fetchChanges()
        one.delete(id("a"))
        one.edit(id("b"), "2")
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Y"))])
        try await one.engine.fetchChanges()
        var disk = one.stop()
        disk.state = try JSONDecoder().decode(
            CKSyncEngine.State.Serialization.self, from: JSONEncoder().encode(disk.state))
        let again = device(disk)
        #expect(again.engine.state.pendingRecordZoneChanges == [.deleteRecord(id("a")), .saveRecord(id("b"))])
        #expect(again.engine.state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneName: "Y"))])
        try await again.engine.fetchChanges()
        #expect(again.log == ["will fetch manual", "did fetch"])
        try await again.engine.sendChanges()
        #expect(
            again.log.dropFirst(2).dropLast() == [
                "will send manual", "sent zones [\"Y\"] failed []", "sent [\"b\", \"-a\"] failed []",
            ])
    }

    @Test func `a state is published only after the delegate has its events`() async throws {
        let one = device()
        addZone(one)
        for number in 0..<250 { one.edit(id("n\(number)"), "x") }
        try await one.engine.sendChanges()
        let two = device()
        let disks = Box<[SyncDevice.Disk]>([])
        two.onEvent.value = { event in
            disks.value.append(two.saved)
            if case .stateUpdate = event { return }
            // The app changes something at every event, so there is a new state to give out.
            two.engine.state.add(pendingRecordZoneChanges: [.deleteRecord(CKRecord.ID("no\(disks.value.count)", "Z"))])
        }
        try await two.engine.fetchChanges()
        #expect(disks.value.count > 5)
        // A device that was stopped at any event starts with what it had saved, and gets everything.
        for (index, disk) in disks.value.enumerated() {
            let again = device(disk)
            try await again.engine.fetchChanges()
            #expect(again.notes.count == 250, "stopped at event \(index)")
        }
    }

    @Test func `a redundant change publishes no state`() async throws {
        let one = device()
        let changes: [CKSyncEngine.PendingRecordZoneChange] = [.saveRecord(id("a"))]
        let updates = Box(0)
        one.onEvent.value = { [engine = one.engine, zoneID] event in
            guard case .stateUpdate = event else { return }
            updates.value += 1
            engine.state.add(pendingRecordZoneChanges: changes)
            engine.state.remove(pendingRecordZoneChanges: [.deleteRecord(CKRecord.ID(recordName: "b", zoneID: zoneID))])
            engine.state.hasPendingUntrackedChanges = false
        }
        one.engine.state.add(pendingRecordZoneChanges: changes)
        await one.engine.handOutState()
        #expect(updates.value == 1)
        for _ in 0..<3 { await one.engine.handOutState() }
        #expect(updates.value == 1)
        one.engine.state.hasPendingUntrackedChanges = true
        await one.engine.handOutState()
        await one.engine.handOutState()
        // It was changed back at the first.
        #expect(updates.value == 3)
    }

    // MARK: Accounts

    @Test func `another account's data is not this account's`() async throws {
        let phone = cloud.device("phone", account: "mei")
        let one = device(on: phone.container)
        addZone(one)
        one.edit(id("a"), "mei's")
        try await one.engine.sendChanges()
        one.edit(id("b"), "mei's too")

        phone.signIn("tom")
        one.clearLog()
        try await one.engine.fetchChanges()
        #expect(one.log == ["account switch", "will fetch manual", "did fetch"])
        #expect(one.engine.state.pendingRecordZoneChanges.isEmpty && one.texts.isEmpty)

        phone.signIn(nil)
        one.clearLog()
        await expectFailure(.notAuthenticated) { try await one.engine.fetchChanges() }
        #expect(one.log == ["account out"])

        phone.signIn("mei")
        try await one.engine.fetchChanges()
        #expect(one.texts == ["a": "mei's"] && one.log[1] == "account in")
    }

    // MARK: By itself

    @Test func `an automatic engine fetches at its start and sends what is added`() async throws {
        let one = device()
        addZone(one)
        one.edit(id("a"), "1")
        try await one.engine.sendChanges()
        let two = SyncDevice()
        two.start(cloud.container().privateCloudDatabase, automatically: true)
        await two.wait { $0.contains("did fetch") }
        #expect(two.texts == ["a": "1"] && two.log[1] == "will fetch scheduled")
        two.edit(id("b"), "2")
        await two.wait { $0.contains("sent [\"b\"] failed []") }
        try await one.engine.fetchChanges()
        #expect(one.texts == ["a": "1", "b": "2"])
    }

    @Test(.cloud) func `an automatic engine retries with backoff, and not before the service allows`() async throws {
        let cloud = try LocalCloud.current
        cloud.fail(.save, with: .networkFailure)
        cloud.fail(.save, with: .requestRateLimited, retryAfter: 30)
        cloud.fail(.save, .first(2), with: .networkFailure)
        let (one, waits) = (SyncDevice(), Box<[Double]>([]))
        one.start(
            cloud.container().privateCloudDatabase, automatically: true,
            environment: SyncEngineEnvironment(sleep: {
                waits.value.append($0)
                cloud.clock.advance(by: .seconds($0))
            }))
        addZone(one)
        one.edit(id("a"), "1")
        await one.wait { $0.contains("sent [\"a\"] failed []") }
        #expect(waits.value == [1, 30, 4, 8])
    }
}
