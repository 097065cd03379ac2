import CloudKit
import CloudKitTesting
import Testing

@Suite struct ScaleTests {
    private static let recordID = CKRecord.ID(recordName: "note")

    private func save(_ number: Int) async throws {
        let note = CKRecord(recordType: "Note", recordID: Self.recordID)
        note["number"] = number
        try await CKContainer.default().privateCloudDatabase.save(note)
    }

    private func number() async throws -> Int? {
        try await CKContainer.default().privateCloudDatabase.record(for: Self.recordID)["number"]
    }

    @Test func `a thousand clouds at once never mix over the default container`() async throws {
        let gate = Gate(waitingFor: 1000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for test in 0..<1000 {
                group.addTask {
                    try await withCloud { _ in
                        try await save(test)
                        await gate.arrive()
                        #expect(try await number() == test)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Lets everybody pass once all have arrived.
private actor Gate {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(waitingFor count: Int) { missing = count }

    func arrive() async {
        missing -= 1
        if missing > 0 { return await withCheckedContinuation { waiting.append($0) } }
        for continuation in waiting { continuation.resume() }
    }
}
