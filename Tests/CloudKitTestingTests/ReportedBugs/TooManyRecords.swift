import CloudKit
import CloudKitTesting

/// All pending items go in one request. With more than the service takes at once (400, and 5 with tight limits) none is ever
/// sent (caiyue1993/IceCream #13, pointfreeco/sqlite-data #333).
final class TooManyRecords: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    /// An import is one edit.
    override func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        guard Int.random(in: 0..<4, using: &random) == 0 else { return try await super.edit(using: &random) }
        var changes: [String: String?] = [:]
        for _ in 0..<6 {
            let text = random.text()
            changes[text] = text
        }
        try write(changes)
        return changes
    }

    override func send(_ names: [String]) async throws -> [String: CKError] {
        do {
            return try await super.send(names)
        } catch let error as CKError where error.code == .limitExceeded && !isMended {
            throw CKError(.internalError)  // "Unknown error"
        }
    }
}
