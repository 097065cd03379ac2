import CloudKit
public import Foundation
import NephosService
import Synchronization

/// What a test's cloud is like.
struct CloudOptions: Sendable {
    /// A schema in the CloudKit Schema Language, or the path of a file with one.
    var schema: String?
    var limits = CloudLimits.apple
    var isUnfriendly = false
    var isStrict = false
    /// Whether unanswered requests and unsynchronised changes at the end fail the test.
    var leavesNothing = false
    var seed: UInt64?
    /// The real time that a stopped request waits while no other comes.
    var idleTimeout = Duration.seconds(60)
    /// Logs what clients must not see; nil for standard error.
    var log: (@Sendable (String) -> Void)?
}

/// Runs code on a new cloud: in it, the tasks that it starts, and the handlers and blocks of its calls,
/// `CKContainer.default()` and `CKContainer(identifier:)` mean containers of this cloud. In it and its tasks
/// `LocalCloud.current` is this cloud. For XCTest and scripts; a test of Swift Testing has the trait `.cloud`.
///
///     try await withCloud { cloud in
///         cloud.fail(.save, with: .networkFailure)
///         …
///     }
/// - Parameters:
///   - schema: a schema in the CloudKit Schema Language, or the path of a file with one. Each container begins with
///     it, and saves add no types and fields to it, as in production. Nil for schemas that saves extend.
///   - limits: CloudKit's limits, or tighter ones.
///   - isUnfriendly: whether the service does what is legal and rarely seen: empty pages with more to come, children
///     before their parents, a record twice; notifications late, twice, merged or lost; queries that lag behind saves.
///   - isStrict: whether what is not part of Apple's API is refused: the additions of `CloudKitExtras`.
///   - leavesNothing: whether what is left at the end is a failure: requests without an answer, and what sync engines
///     of running apps have not sent, or not fetched although they know of it.
///   - seed: the number from which random decisions come; nil for another each time.
/// - Throws: what `body` throws; `LocalCloudError` for a schema that breaks a rule; `CloudFailure` if a fault did not
///   happen.
public func withCloud<Result>(
    schema: String? = nil, limits: CloudLimits = .apple, isUnfriendly: Bool = false, isStrict: Bool = false,
    leavesNothing: Bool = false, seed: UInt64? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (LocalCloud) async throws -> Result
) async throws -> Result {
    try await withCloud(
        CloudOptions(
            schema: schema, limits: limits, isUnfriendly: isUnfriendly, isStrict: isStrict,
            leavesNothing: leavesNothing, seed: seed), isolation: isolation, body)
}

func withCloud<Result>(
    _ options: CloudOptions, isolation: isolated (any Actor)? = #isolation, _ body: (LocalCloud) async throws -> Result
) async throws -> Result {
    let cloud = try await LocalCloud.forTest(options)
    let result: Result
    do {
        result = try await cloud.asCurrent { try await body(cloud) }
    } catch {
        let timedOut = cloud.timedOut.map(\.text)
        await cloud.end()
        // The error is what followed.
        if timedOut.isEmpty { throw error }
        throw CloudFailure(problems: timedOut + ["\(error)"])
    }
    let problems = cloud.problems().map(\.text) + (options.leavesNothing ? cloud.leftovers : [])
    await cloud.end()
    if !problems.isEmpty { throw CloudFailure(problems: problems) }
    return result
}

/// What a test's cloud found at the end of the test.
public struct CloudFailure: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
    /// Each with what to do.
    public let problems: [String]
    public var description: String { problems.joined(separator: "\n") }
    public var errorDescription: String? { description }
}

extension LocalCloud {
    @TaskLocal static var scoped: LocalCloud?

    /// The cloud of the running test.
    /// - Throws: `LocalCloudError` outside of a test with `.cloud` and of `withCloud`.
    public static var current: LocalCloud {
        get throws {
            guard let scoped else {
                throw LocalCloudError(
                    "There is no cloud here. Give the test or its suite the trait `.cloud`, or the code `withCloud { }`. A "
                        + "detached task, a queue and a thread have none: hand the cloud on to them.")
            }
            return scoped
        }
    }

    func asCurrent<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let device = device()
        return try await LocalCloud.$scoped.withValue(self) { try await device.run(body) }
    }

    /// What is wrong at the end of a test.
    func problems() -> [CloudProblem] {
        state.expected.withLock { $0 }.compactMap { $0.problem(seed: seed) } + timedOut
    }

    /// What is wrong where a test awaited requests that it had stopped.
    var timedOut: [CloudProblem] {
        let holds = state.expected.withLock { $0 }.compactMap { ($0 as? Hold)?.timedOut }
        let devices = state.devices.withLock { $0.values.sorted { $0.name < $1.name } }
        return holds + devices.compactMap(\.timedOut)
    }

    /// What the test leaves behind.
    var leftovers: [String] {
        let devices = state.devices.withLock { $0.values.sorted { $0.name < $1.name } }
        let running = state.faults.running
        let waiting = running == 0 ? [] : ["\(running) requests have no answer yet: await what the test starts"]
        return (waiting + devices.flatMap(\.leftovers)).map { "At the end of the test \($0)." }
    }

    /// Ends the test's cloud: its containers refuse everything from now on.
    func end() async {
        let state = state
        for case let hold as Hold in state.expected.withLock({ $0 }) { hold.release() }
        state.scope.end()
        let devices = state.devices.withLock { devices in
            defer { devices = [:] }
            return Array(devices.values)
        }
        for device in devices { device.discard() }
        await close()
    }
}

/// What is wrong at the end of a test, and the place in its code; nil for the test's own.
struct CloudProblem: Sendable {
    let text: String
    let place: SourcePlace?
}

/// A place in a test's code.
struct SourcePlace: Hashable, Sendable {
    let fileID: String
    let filePath: String
    let line: Int
    let column: Int
}
