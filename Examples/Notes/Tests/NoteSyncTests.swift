import CloudKit
import CloudKitTesting
import Testing

@testable import NotesApp

/// The app on a device of the test's cloud.
private struct Device {
    let device: CloudDevice
    let app: NoteSync

    init(_ name: String, account: String? = "mei") async throws {
        device = try LocalCloud.current.device(name, account: account)
        app = try await Self.launch(device)
    }

    private init(_ device: CloudDevice, _ app: NoteSync) { (self.device, self.app) = (device, app) }

    private static func launch(_ device: CloudDevice) async throws -> NoteSync {
        let clock = try LocalCloud.current.clock
        let app = try NoteSync(directory: device.diskDirectory) { clock.date }
        await app.start(device.container.privateCloudDatabase, automaticallySync: false)
        return app
    }

    /// The device after a crash of the app.
    func relaunched() async throws -> Device {
        device.relaunch()
        return Device(device, try await Self.launch(device))
    }

    var texts: [String] { get async { await app.notes.map(\.text).sorted() } }
}

private let second = Duration.seconds(1)

@Suite(.cloud(leavesNothing: true)) struct NoteSyncTests {
    @Test func `notes of one device arrive at the other`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk")
        try await pad.app.write("Bread")
        for device in [phone, pad, phone] { try await device.app.sync() }
        #expect(await phone.texts == ["Bread", "Milk"])
        #expect(await pad.texts == ["Bread", "Milk"])
    }

    @Test(arguments: [true, false]) func `of two edits the later one wins`(isPhoneLater: Bool) async throws {
        let clock = try LocalCloud.current.clock
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk", to: "list")
        for device in [phone, pad] { try await device.app.sync() }
        clock.advance(by: second)
        try await (isPhoneLater ? pad : phone).app.write("earlier", to: "list")
        clock.advance(by: second)
        try await (isPhoneLater ? phone : pad).app.write("later", to: "list")
        for device in [phone, pad, phone] { try await device.app.sync() }
        #expect(await phone.texts == ["later"])
        #expect(await pad.texts == ["later"])
    }

    @Test func `a save whose answer got lost is no conflict`() async throws {
        let phone = try await Device("phone")
        try LocalCloud.current.fail(.save, type: "Note", at: .afterCommit, with: .networkFailure)
        try await phone.app.write("Milk", to: "list")
        await #expect(throws: CKError.self) { try await phone.app.sync() }
        try await phone.app.write("Milk, bread", to: "list")
        try await phone.app.sync()
        #expect(await phone.texts == ["Milk, bread"])
    }

    @Test func `a note that conflicts is sent on top of what the service has`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk", to: "list")
        try await phone.app.sync()
        // Another device saves between this one's fetch and its save.
        try LocalCloud.current.fail(.save, record: "list", with: .serverRecordChanged)
        try await phone.app.write("Milk, bread", to: "list")
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await pad.texts == ["Milk, bread"])
    }

    @Test func `what was written before a crash is sent after it`() async throws {
        let phone = try await Device("phone")
        try await phone.app.write("Milk", to: "list")
        try await phone.app.write("Bread", to: "old")
        try await phone.app.sync()
        try await phone.app.write("Milk, eggs", to: "list")
        try await phone.app.remove("old")
        let relaunched = try await phone.relaunched()
        try await relaunched.app.sync()
        let pad = try await Device("pad")
        try await pad.app.sync()
        #expect(await pad.texts == ["Milk, eggs"])
    }

    @Test func `notes that iCloud has no room for are sent once it has`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        let fault = try LocalCloud.current.fail(.save, record: "long", .all, with: .quotaExceeded)
        try await phone.app.write("a book", to: "long")
        try await phone.app.write("a word", to: "short")
        await #expect(throws: CKError.self) { try await phone.app.sync() }
        #expect((await phone.app.problem as? CKError)?.code == .quotaExceeded)
        #expect(fault.count > 0)
        fault.cancel()
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await phone.app.problem == nil)
        #expect(await pad.texts == ["a book", "a word"])
    }

    @Test func `an edit of a deleted note goes with it`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk", to: "list")
        for device in [phone, pad] { try await device.app.sync() }
        try await phone.app.remove("list")
        try await phone.app.sync()
        try await pad.app.write("Milk, bread", to: "list")
        try await pad.app.sync()
        #expect(await pad.texts == [])
        try await phone.app.sync()
        #expect(await phone.texts == [])
    }

    @Test func `after an expired token what was deleted goes, and what is new stays`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        for name in ["list", "old"] { try await phone.app.write(name, to: name) }
        for device in [phone, pad] { try await device.app.sync() }
        try await phone.app.remove("old")
        try await phone.app.sync()
        try await LocalCloud.current.forgetDeletions()
        try await pad.app.write("new")
        try await pad.app.sync()
        #expect(await pad.texts == ["list", "new"])
        try await phone.app.sync()
        #expect(await phone.texts == ["list", "new"])
    }
}

extension NoteSyncTests {
    @Test func `what the user removed from iCloud stays removed`() async throws {
        let cloud = try LocalCloud.current
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk", to: "list")
        for device in [phone, pad] { try await device.app.sync() }
        try await pad.app.write("Milk, bread", to: "list")
        try await cloud.removeZones(ofAccount: "mei", reason: .purged)
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await phone.texts == [])
        #expect(await pad.texts == [])
        #expect(try await cloud.snapshot().description.contains("Notes") == false)

        try await phone.app.write("Eggs")
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await pad.texts == ["Eggs"])
    }

    @Test func `after a reset of encrypted data the notes are sent again`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        try await phone.app.write("Milk")
        for device in [phone, pad] { try await device.app.sync() }
        try await LocalCloud.current.removeZones(ofAccount: "mei", reason: .encryptedDataReset)
        for device in [phone, pad, phone] { try await device.app.sync() }
        let new = try await Device("new")
        try await new.app.sync()
        #expect(await new.texts == ["Milk"])
        #expect(await pad.texts == ["Milk"])
    }

    @Test func `another account gets nothing of the former one's`() async throws {
        let phone = try await Device("phone")
        try await phone.app.write("Mei's")
        try await phone.app.sync()
        try await phone.app.write("Mei's, unsent")
        phone.device.signIn("tom")
        try await phone.app.sync()
        #expect(await phone.texts == [])
        try await phone.app.write("Tom's")
        try await phone.app.sync()
        phone.device.signIn("mei")
        try await phone.app.sync()
        #expect(await phone.texts == ["Mei's"])
    }

    @Test func `what was written before the first sign-in is the account's`() async throws {
        let phone = try await Device("phone", account: nil)
        try await phone.app.write("Milk")
        await #expect(throws: CKError.self) { try await phone.app.sync() }
        phone.device.signIn("mei")
        let pad = try await Device("pad")
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await pad.texts == ["Milk"])
    }

    @Test(.cloud(limits: .tight, isUnfriendly: true, leavesNothing: true))
    func `a service with tight limits and odd manners changes nothing`() async throws {
        let (phone, pad) = (try await Device("phone"), try await Device("pad"))
        let texts = (10..<23).map { "note \($0)" }
        for text in texts { try await phone.app.write(text) }
        for device in [phone, pad] { try await device.app.sync() }
        #expect(await pad.texts == texts)
    }

    @Test(.timeLimit(.minutes(2))) func `a throttled engine sends by itself once the service allows it`() async throws {
        let cloud = try LocalCloud.current
        let (phone, pad) = (cloud.device("phone", account: "mei"), try await Device("pad"))
        let app = try NoteSync(directory: phone.diskDirectory)
        let fault = cloud.fail(.save, type: "Note", with: .requestRateLimited, retryAfter: 3600)
        try await app.write("Milk")
        await app.start(phone.container.privateCloudDatabase)
        while fault.count == 0 { await Task.yield() }
        #expect(try await cloud.snapshot().description.contains("Note \"") == false)
        while try await cloud.snapshot().description.contains("Note \"") == false {
            cloud.clock.advance(by: .seconds(600))
            await Task.yield()
        }
        try await pad.app.sync()
        #expect(await pad.texts == ["Milk"])
        phone.terminate()
    }
}
