import CloudKit
import CloudKitTesting
import Testing

/// An app's code, which asks for its container where it needs one.
private enum App {
    static func save(_ name: String) async throws {
        try await CKContainer.default().privateCloudDatabase.save(
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name)))
    }

    static func has(_ name: String) async throws -> Bool {
        do {
            _ = try await CKContainer.default().privateCloudDatabase.record(for: CKRecord.ID(recordName: name))
            return true
        } catch CKError.unknownItem {
            return false
        }
    }
}

@Suite(.cloud) struct WithCloudTests {
    @Test(arguments: 0..<500)
    func `every case has a cloud of its own`(number: Int) async throws {
        #expect(try await !App.has("note"))
        try await App.save("note")
        #expect(try await App.has("note"))
        let database = try LocalCloud.current.container().privateCloudDatabase
        _ = try await database.record(for: CKRecord.ID(recordName: "note"))
    }

    @Test func `the innermost cloud counts`() async throws {
        try await App.save("outer")
        try await withCloud { _ in
            #expect(try await !App.has("outer"))
            try await App.save("inner")
        }
        #expect(try await !App.has("inner"))
        #expect(try await App.has("outer"))
    }

    @Test func `tasks of a test use its cloud`() async throws {
        try await Task { try await App.save("task") }.value
        async let other: Void = App.save("child")
        try await other
        #expect(try await App.has("task"))
        #expect(try await App.has("child"))
    }

    @Test func `a container of a detached task fails with the remedy and reaches no network`() async throws {
        // In a process of its own: other tests make a cloud the whole process's default.
        await #expect(processExitsWith: .success) {
            let early = CKContainer(identifier: "iCloud.org.example.Early")
            try await withCloud { _ in
                let error = await #expect(throws: CKError.self) {
                    try await Task.detached { try await App.save("lost") }.value
                }
                #expect(error?.code == .badContainer)
                #expect(error?.localizedDescription.contains("detached task") == true)
                await #expect(throws: LocalCloudError.self) {
                    try await Task.detached { _ = try LocalCloud.current }.value
                }
            }
            // Made before the first cloud: also this one reaches no network from now on.
            let error = await #expect(throws: CKError.self) {
                try await early.privateCloudDatabase.save(CKRecord(recordType: "Note"))
            }
            #expect(error?.code == .badContainer)
        }
    }

    @Test func `a container of another test fails with the remedy, also after that test`() async throws {
        let kept = try await withCloud { _ in
            let kept = CKContainer.default()
            let error = await #expect(throws: CKError.self) {
                try await withCloud { _ in try await kept.privateCloudDatabase.save(CKRecord(recordType: "Note")) }
            }
            #expect(error?.localizedDescription.contains("another test") == true)
            return kept
        }
        let error = await #expect(throws: CKError.self) {
            try await kept.privateCloudDatabase.save(CKRecord(recordType: "Note"))
        }
        #expect(error?.code == .badContainer)
        #expect(error?.localizedDescription.contains("earlier test") == true)
    }

    @Test func `switching the account of a device switches what the app sees`() async throws {
        try await App.save("mine")
        let device = try LocalCloud.current.device()
        device.signIn("tom")
        #expect(try await !App.has("mine"))
        device.signIn(LocalCloud.defaultAccount)
        #expect(try await App.has("mine"))
    }
}
