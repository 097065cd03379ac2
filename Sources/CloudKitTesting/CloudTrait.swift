public import Testing

/// The trait that gives a test its cloud, or each test of a suite one of its own.
public struct CloudTrait: TestTrait, SuiteTrait, TestScoping {
    let options: CloudOptions

    /// True: each case of each test has a cloud.
    public var isRecursive: Bool { true }

    /// Runs one case of a test on a new cloud, and records an issue for each fault that did not happen.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let cloud = try await LocalCloud.forTest(options)
        do {
            try await cloud.asCurrent { try await function() }
        } catch {
            for problem in cloud.timedOut { record(problem, test) }
            await cloud.end()
            throw error
        }
        for problem in cloud.problems() { record(problem, test) }
        if options.leavesNothing {
            for text in cloud.leftovers {
                Issue.record(Comment(rawValue: text), sourceLocation: test.sourceLocation)
            }
        }
        await cloud.end()
    }

    private func record(_ problem: CloudProblem, _ test: Test) {
        let place = problem.place.map {
            SourceLocation(fileID: $0.fileID, filePath: $0.filePath, line: $0.line, column: $0.column)
        }
        Issue.record(Comment(rawValue: problem.text), sourceLocation: place ?? test.sourceLocation)
    }
}

extension Trait where Self == CloudTrait {
    /// Runs the test, or each case of each test of a suite, on a new cloud in memory. In the test, the tasks that it
    /// starts, and the handlers and blocks of its calls, `CKContainer.default()` and `CKContainer(identifier:)` mean
    /// containers of that cloud. In the test and its tasks `LocalCloud.current` is that cloud. The test fails if a fault did not happen that it asked for.
    public static var cloud: Self { cloud() }

    /// Runs the test, or each case of each test of a suite, on a new cloud in memory.
    /// - Parameters:
    ///   - schema: a schema in the CloudKit Schema Language, or the path of a file with one. Each container begins
    ///     with it, and saves add no types and fields to it, as in production. Nil for schemas that saves extend.
    ///   - limits: CloudKit's limits, or tighter ones.
    ///   - isUnfriendly: whether the service does what is legal and rarely seen: empty pages with more to come, children
    ///     before their parents, a record twice; notifications late, twice, merged or lost; queries that lag behind saves.
    ///   - isStrict: whether what is not part of Apple's API is refused: the additions of `CloudKitExtras`.
    ///   - leavesNothing: whether what is left at the end is a failure: requests without an answer, and what sync
    ///     engines of running apps have not sent, or not fetched although they know of it.
    ///   - seed: the number from which random decisions come; nil for another each time.
    public static func cloud(
        schema: String? = nil, limits: CloudLimits = .apple, isUnfriendly: Bool = false, isStrict: Bool = false,
        leavesNothing: Bool = false, seed: UInt64? = nil
    ) -> Self {
        CloudTrait(
            options: CloudOptions(
                schema: schema, limits: limits, isUnfriendly: isUnfriendly, isStrict: isStrict,
                leavesNothing: leavesNothing, seed: seed))
    }
}
