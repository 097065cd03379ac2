import CloudKit
import Foundation
import Testing

@testable import CloudKitTesting

@Suite(.cloud) struct CloudDeviceTests {
    private let recordID = CKRecord.ID(recordName: "note")

    private func save(_ device: CloudDevice) async throws {
        try await device.container.privateCloudDatabase.save(CKRecord(recordType: "Note", recordID: recordID))
    }

    @Test func `devices of one account share its data, and those of others have their own`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone", account: "mei"), cloud.device("tablet", account: "mei"))
        let other = cloud.device("other", account: "tom")
        try await save(phone)
        _ = try await tablet.container.privateCloudDatabase.record(for: recordID)
        let hidden = await #expect(throws: CKError.self) {
            try await other.container.privateCloudDatabase.record(for: recordID)
        }
        #expect(hidden?.code == .unknownItem)
        #expect(cloud.device("phone") === phone)
    }

    @Test func `a device that exists is found by its name, and by the account that is signed in`() async throws {
        let cloud = try LocalCloud.current
        let (phone, nobody) = (cloud.device("phone", account: "mei"), cloud.device("nobody", account: nil))
        #expect(cloud.device("phone") === phone && cloud.device("phone", account: "mei") === phone)
        #expect(cloud.device("nobody") === nobody && cloud.device("nobody", account: nil) === nobody)
        phone.signIn("tom")
        #expect(cloud.device("phone", account: "tom") === phone)
    }

    @Test func `the error of a device that is signed out names how to sign in there`() async throws {
        let phone = try LocalCloud.current.device("phone")
        phone.signIn(nil)
        let error = await #expect(throws: CKError.self) { try await save(phone) }
        #expect(error?.code == .notAuthenticated)
        #expect(error.map { "\($0)".contains(#"device("phone").signIn(_:)"#) } == true, "\(String(describing: error))")
    }

    @Test(arguments: [0, 1])
    func `asking for another account on a device stops the program and names the rule`(order: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [order] in
            try await withCloud { cloud in
                let accounts = order == 0 ? ["mei", "tom"] : ["tom", nil]
                for account in accounts { _ = cloud.device("phone", account: account) }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("device(\"phone\").signIn(_:) switches the account"), "\(text)")
        #expect(text.contains(order == 0 ? "where mei is signed in" : "no account is asked for"), "\(text)")
    }

    @Test func `an app's unchanged code runs on each device`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone", account: "mei"), cloud.device("tablet", account: "tom"))
        let names = try await [phone, tablet].asyncMap { device in
            try await device.run { try await CKContainer.default().userRecordID().recordName }
        }
        #expect(names[0] != names[1])
    }

    @Test func `an offline device reaches nothing until it is online again`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone"), cloud.device("tablet"))
        phone.isOffline = true
        let error = await #expect(throws: CKError.self) { try await save(phone) }
        #expect(error?.code == .networkUnavailable)
        #expect(error?.localizedDescription.contains("The device is offline") == true)
        try await save(tablet)
        phone.isOffline = false
        _ = try await phone.container.privateCloudDatabase.record(for: recordID)
    }

    @Test func `an app that was terminated is launched again with its disk`() async throws {
        let phone = try LocalCloud.current.device("phone")
        try Data("state".utf8).write(to: phone.diskDirectory.appendingPathComponent("state"))
        phone.terminate()
        phone.relaunch()
        try await save(phone)
        #expect(try Data(contentsOf: phone.diskDirectory.appendingPathComponent("state")) == Data("state".utf8))
    }

    /// Saves until a request fails, so that a request is under way whenever the test looks.
    private func saveForEver(_ database: CKDatabase) async throws -> Never {
        while true {
            let notes = (0..<300).map { _ in CKRecord(recordType: "Note") }
            _ = try await database.modifyRecords(saving: notes, deleting: [])
        }
    }

    @Test func `a request under way does not return to an app that was terminated`() async throws {
        let sending = try await withCloud { cloud in
            let phone = cloud.device("phone")
            let (database, disk) = (phone.container.privateCloudDatabase, try phone.diskDirectory)
            let sending = Task { () -> (any Error)? in
                do {
                    try await saveForEver(database)
                } catch {
                    // What an app does that keeps what it could not send.
                    try? Data().write(to: disk.appendingPathComponent("unsent"))
                    return error
                }
            }
            while cloud.leftovers.isEmpty { await Task.yield() }
            phone.terminate()
            phone.relaunch()
            while !cloud.leftovers.isEmpty { await Task.yield() }
            try await Task.sleep(for: .milliseconds(200))
            #expect(try FileManager.default.contentsOfDirectory(atPath: phone.diskDirectory.path).isEmpty)
            return sending
        }
        // Nothing waits longer than the cloud exists.
        _ = await sending.value
    }

    @Test func `a new request of an app that was terminated is not sent, and waits until the cloud ends`() async throws
    {
        let saving = try await withCloud { cloud in
            let phone = cloud.device("phone")
            let former = phone.container.privateCloudDatabase
            phone.relaunch()
            let hasReturned = Box(false)
            let saving = Task { () -> (any Error)? in
                defer { hasReturned.value = true }
                do {
                    try await former.save(CKRecord(recordType: "Note", recordID: recordID))
                    return nil
                } catch {
                    return error
                }
            }
            for _ in 0..<50 { _ = try await phone.container.userRecordID() }
            #expect(!hasReturned.value)
            #expect(try await !cloud.snapshot().description.contains("Note"))
            return saving
        }
        #expect((await saving.value as? CKError)?.code == .operationCancelled)
    }

    @Test(.timeLimit(.minutes(1))) func `a request under way of a terminated app ends with its task`() async throws {
        try await withCloud { cloud in
            let phone = cloud.device("phone")
            let database = phone.container.privateCloudDatabase
            async let _: Never = saveForEver(database)
            while cloud.leftovers.isEmpty { await Task.yield() }
            phone.terminate()
        }
    }

    @Test func `the encrypted values of a device outlive its app`() async throws {
        let phone = try LocalCloud.current.device("phone")
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record.encryptedValues["text"] = "secret"
        try await phone.container.privateCloudDatabase.save(record)
        phone.relaunch()
        let fetched = try await phone.container.privateCloudDatabase.record(for: recordID)
        #expect(fetched.encryptedValues["text"] == "secret")
    }

    @Test func `a device is not notified of its own change after a launch`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone"), cloud.device("tablet"))
        try await phone.container.privateCloudDatabase.save(CKDatabaseSubscription(subscriptionID: "all"))
        let notifications = try await tablet.container.notifications()
        try await save(phone)
        for await notification in notifications {
            #expect(notification.subscriptionID == "all")
            break
        }
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
