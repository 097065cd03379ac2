import CloudKit
import CloudKitTesting

/// A list and its items go in one atomic batch. If the list conflicts, the items fail with `batchRequestFailed`: the app
/// takes that for their own failure, and does not send them again (pointfreeco/sqlite-data #315).
final class ChildDropped: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    private static let list = "list"

    override var isAtomic: Bool { true }

    override func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        let text = random.text()
        let isOfList = disk.contents[Self.list] == nil || Bool.random(using: &random)
        let changes: [String: String?] = [isOfList ? Self.list : text: text]
        try write(changes)
        return changes
    }

    override func record(for name: String, _ disk: Disk) -> CKRecord? {
        let record = super.record(for: name, disk)
        if name != Self.list, disk.items[Self.list] != nil {
            record?.parent = CKRecord.Reference(recordID: disk.recordID(Self.list), action: .none)
        }
        return record
    }

    override func settle(_ name: String, _ error: CKError, _ disk: inout Disk) {
        super.settle(name, error, &disk)
        if !isMended, error.code == .batchRequestFailed { disk.items[name]?.isPending = false }
    }
}
