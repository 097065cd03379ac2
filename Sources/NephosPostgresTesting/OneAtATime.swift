package import Testing

/// Runs tests one after another, whichever suites they are in: a write under way anywhere in a cluster holds back what feeds
/// give and what is purged.
package struct OneAtATime: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }
    private let isOn: Bool

    fileprivate init(isOn: Bool) { self.isOn = isOn }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard isOn else { return try await function() }
        await Turn.shared.begin()
        do {
            try await function()
            await Turn.shared.end()
        } catch {
            await Turn.shared.end()
            throw error
        }
    }
}

extension Trait where Self == OneAtATime {
    package static var oneAtATime: Self { Self(isOn: true) }
    /// The same where PostgreSQL was chosen for tests of the service.
    package static var oneAtATimeOverPostgreSQL: Self { Self(isOn: TestCluster.isChosen) }
}

private actor Turn {
    static let shared = Turn()

    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if isTaken { await withCheckedContinuation { waiting.append($0) } }
        isTaken = true
    }

    func end() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
