import CloudKit
import CloudKitLocal
import Foundation

/// Several devices on which an app edits and syncs, while everything goes wrong that can, in an order that a seed decides.
///
///     let simulation = Simulation(seed: 7, devices: ["phone", "pad"]) { device in try await NotesApp(device) }
///     try await simulation.run(steps: 200)
///
/// Two things are scheduled: the requests at the service's door, and the clock. One device moves until its tasks wait for
/// one of them. Now and then, and in the end, every device is online and syncs until nothing changes. Then the devices of an account have to
/// agree, and those of all that take part in a share, and to show what their users did: no edit is lost, no deletion comes back.
///
/// Code that awaits what it starts runs the same each time. A failure is repeated with fewer steps, and has them as a
/// test to paste.
public struct Simulation: Sendable {
    /// What goes wrong.
    public enum Disturbance: Hashable, Sendable, CaseIterable {
        /// Requests fail, answers get lost or are cut.
        case faults
        /// The account's storage is full for some records.
        case quota
        /// Devices are offline for a while.
        case offline
        /// Notifications get lost or arrive twice.
        case notifications
        /// Apps end without a warning, at a request or at an event of a sync engine.
        case crashes
        /// The service ends and starts again, between requests or before it answers one.
        case restarts
        /// Change tokens expire.
        case expiredTokens
        /// The app is deleted from a device, and installed again.
        case reinstalls
        /// An account's user removes the app's data.
        case purges
        /// Users of devices sign in with another account. Needs two accounts.
        case accountChanges
    }

    /// Launches the app on a device.
    public typealias Launch = @Sendable (CloudDevice) async throws -> any SimulatedApp

    /// The number from which all random decisions come.
    public let seed: UInt64
    /// The names of the devices.
    public let devices: [String]
    /// The accounts. The first is signed in on each device in the beginning, unless `signedIn` names another one.
    public let accounts: [String]
    /// The accounts that are signed in in the beginning, by the names of their devices.
    public let signedIn: [String: String]
    let disturbances: Set<Disturbance>
    let limits: CloudLimits
    let launch: Launch
    /// The real time after which an app is stuck that waits for something that is neither the service nor the clock.
    package var realTimeLimit = Duration.seconds(20)
    /// The real time after which a task waits for another one of the app. A machine on which it takes longer to be run may
    /// see another schedule.
    package var computingTime = Duration.seconds(4)

    /// Describes a simulation.
    /// - Parameters:
    ///   - devices: the names of the devices, each other ones.
    ///   - accounts: the accounts that sign in, the first on each device in the beginning. Where there is one,
    ///     `.accountChanges` does nothing.
    ///   - signedIn: the devices on which another one of the accounts is signed in in the beginning.
    ///   - disturbances: what goes wrong.
    ///   - limits: CloudKit's limits, or tighter ones.
    ///   - launch: launches the app on a device, with what is in its `diskDirectory`. `CKContainer.default()` is the device's
    ///     container there and in the app's calls.
    public init(
        seed: UInt64, devices: [String] = ["phone", "pad"], accounts: [String] = [LocalCloud.defaultAccount],
        signedIn: [String: String] = [:],
        disturbances: Set<Disturbance> = Set(Disturbance.allCases), limits: CloudLimits = .apple,
        launch: @escaping Launch
    ) {
        self.seed = seed
        self.devices = devices
        self.accounts = accounts
        self.signedIn = signedIn
        self.disturbances = disturbances
        self.limits = limits
        self.launch = launch
    }

    /// Runs random steps.
    /// - Parameters:
    ///   - count: how many steps; none if it is negative.
    ///   - patience: how long a failure is repeated with fewer steps, in real time.
    /// - Returns: what happened, a line each; of long runs the last 10,000 lines at least, after one with the hash of those before. The
    ///   same seed and number of steps give the same lines. Steps that took over a second of real time are on standard error.
    /// - Throws: `SimulationFailure`; `LocalCloudError` if the simulation has no device or account; `CancellationError`.
    @discardableResult
    public func run(steps count: Int, shrinkingFor patience: Duration = .seconds(50)) async throws -> [String] {
        let outcome = try await outcome(ofRandom: count, keeping: Self.kept)
        try Task.checkCancellation()
        guard let problem = outcome.problem else { return reported(outcome) }
        throw await SimulationShrinking(self, outcome, problem, patience: patience).failure()
    }

    /// How many steps and lines a run keeps, so that its memory has a bound. A failure is run again, which has them all.
    private static let kept = 10_000

    /// Runs random steps.
    /// - Parameter limit: the number of steps and lines to keep; nil for all.
    func outcome(ofRandom count: Int, keeping limit: Int?) async throws -> SimulationOutcome {
        let run = try await SimulationRun(self, keeping: limit)
        var planner = SimulationPlanner(self)
        for _ in 0..<max(0, count) {
            if Task.isCancelled { break }
            if await run.hasProblem { break }
            await run.perform(planner.next(await run.situations))
        }
        return await run.finish()
    }

    /// Repeats the steps of a failure, or runs chosen ones.
    /// - Returns: what happened, a line each. Steps that took over a second of real time are on standard error.
    /// - Throws: `SimulationFailure`, with these steps; `LocalCloudError` if a step is of a device or an account that the
    ///   simulation does not have.
    @discardableResult
    public func replay(_ steps: [Step]) async throws -> [String] {
        if let step = steps.first(where: { $0.device.map { !devices.contains($0) } ?? false }) {
            throw LocalCloudError(
                "\(step) is of no device of the simulation: it has \(devices.joined(separator: ", ")).")
        }
        if let step = steps.first(where: { $0.account.map { !accounts.contains($0) } ?? false }) {
            throw LocalCloudError(
                "\(step) is of no account of the simulation: it has \(accounts.joined(separator: ", ")).")
        }
        let outcome = try await outcome(of: steps)
        try Task.checkCancellation()
        guard let problem = outcome.problem else { return reported(outcome) }
        throw SimulationFailure(
            kind: problem.kind, problem: problem.text, seed: seed, steps: steps, trace: outcome.trace.lines,
            notes: outcome.notes)
    }

    /// Returns what happened in a run that found nothing. Its notes go to standard error, because the same steps return the
    /// same lines, however long they took.
    private func reported(_ outcome: SimulationOutcome) -> [String] {
        for note in outcome.notes {
            FileHandle.standardError.write(Data("Simulation with seed \(seed): \(note)\n".utf8))
        }
        return outcome.trace.lines
    }

    func outcome(of steps: [Step]) async throws -> SimulationOutcome {
        let run = try await SimulationRun(self, keeping: nil)
        for step in steps {
            if Task.isCancelled { break }
            if await run.hasProblem { break }
            await run.perform(step)
        }
        return await run.finish()
    }
}

/// How a run of a simulation ended.
struct SimulationOutcome: Sendable {
    struct Problem: Sendable {
        let kind: SimulationFailure.Kind
        let text: String
    }

    /// The last steps, of a failure's repetition all.
    let steps: [Simulation.Step]
    /// The number of all steps.
    let count: Int
    let trace: SimulationTrace
    let problem: Problem?
    let notes: [String]
}
