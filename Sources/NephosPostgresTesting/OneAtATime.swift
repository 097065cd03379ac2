package import Testing

/// Runs tests one after another, whichever suites they are in: they end others' connections, count round trips, or need a
/// machine that is not busy.
package struct OneAtATime: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
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
    package static var oneAtATime: Self { Self() }
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
