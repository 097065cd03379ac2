import CloudKit
import Foundation
import NephosService
import Synchronization

/// What this library knows about a cloud.
final class CloudState: Sendable {
    /// Nil for a cloud that no test made: its times are the system's.
    let clock: CloudClock?
    let seed: UInt64
    let faults: FaultPlan
    /// The cloud in whose tasks alone its default containers are used.
    let scope: ServiceScope
    let devices = Mutex<[String: CloudDevice]>([:])
    /// The faults and holds that have to happen before the test ends.
    let expected = Mutex<[any CloudExpectation]>([])

    /// How long the requests wait that a test stopped; nil for ever, where no test could tell.
    var idleTimeout: IdleTimeout? { clock == nil ? nil : faults.idleTimeout }

    /// The real time without another request after which they end.
    var idleLimit: Duration {
        get { faults.idleTimeout.limit }
        set { faults.idleTimeout.limit = newValue }
    }

    init(clock: CloudClock?, seed: UInt64, faults: FaultPlan, scope: ServiceScope = ServiceScope()) {
        self.scope = scope
        self.clock = clock
        self.seed = seed
        self.faults = faults
    }

    /// The clock and randomness of what belongs to the containers.
    func syncEnvironment(_ simulated: SimulatedLaunch?) -> SyncEngineEnvironment {
        guard let clock else { return .system }
        var environment = SyncEngineEnvironment(
            sleep: { try await clock.sleep(until: clock.now.advanced(by: .seconds($0)), tolerance: nil) },
            random: { .random(in: 0...1) })
        environment.now = { clock.date }
        guard let simulated else { return environment }
        environment.random = { simulated.makeRandom() }
        environment.sleep = { seconds in
            try await SimulatedLaunch.$current.withValue(simulated) {
                try await clock.sleep(until: clock.now.advanced(by: .seconds(seconds)), tolerance: nil)
            }
        }
        environment.observer = simulated
        return environment
    }
}

extension LocalCloud {
    var state: CloudState {
        if let state = testing.load()?.value as? CloudState { return state }
        let seed = UInt64.random(in: .min ... .max)
        return attach(CloudState(clock: nil, seed: seed, faults: service.makeFaults(seed: seed)))
    }

    @discardableResult
    private func attach(_ state: CloudState) -> CloudState {
        testing.storeIfNil(AnyLocalCloudState(state)).value as? CloudState ?? state
    }

    /// Creates the cloud of a test: in memory, with a clock of its own.
    static func forTest(_ options: CloudOptions) async throws -> LocalCloud {
        try await make(options, CloudClock(), .system)
    }

    /// Creates the cloud of a simulation: its clock stands, and its identifiers come from the seed.
    static func forSimulation(seed: UInt64, limits: CloudLimits) async throws -> LocalCloud {
        var environment = ServiceEnvironment.system
        let identifiers = Mutex(SplitMix(state: seed))
        environment.makeUUID = { identifiers.withLock { $0.makeUUID() } }
        return try await make(
            CloudOptions(limits: limits, seed: seed), CloudClock(pausedAt: Self.simulationStart), environment)
    }

    /// The first of January 2026.
    private static let simulationStart = CloudClock.Instant(microseconds: 1_767_225_600_000_000)

    private static func make(
        _ options: CloudOptions, _ clock: CloudClock, _ environment: ServiceEnvironment
    ) async throws -> LocalCloud {
        ServiceDirectory.shared.refuseUnchosen(Self.outsideRefusal)
        var environment = environment
        environment.now = { clock.now.microseconds / 1000 }
        environment.sleepUntil = { time in
            // A pause of the service is none of the app whose request began it.
            try await SimulatedLaunch.$current.withValue(nil) {
                try await clock.sleep(until: CloudClock.Instant(microseconds: time * 1000), tolerance: nil)
            }
        }
        // What an ended test left finds the service closed: no line says whose it is.
        let scope = ServiceScope()
        let log = options.log ?? environment.log
        environment.log = { if !scope.hasEnded { log($0) } }
        var configuration = ServiceConfiguration()
        configuration.refusesAdditions = options.isStrict
        let cloud = LocalCloud(
            environment: environment, configuration: configuration,
            schema: try options.schema.map { try GivenSchema(try text(ofSchema: $0)) })
        let seed = options.seed ?? UInt64.random(in: .min ... .max)
        cloud.attach(
            CloudState(clock: clock, seed: seed, faults: cloud.service.makeFaults(seed: seed), scope: scope))
        cloud.state.idleLimit = options.idleTimeout
        cloud.state.faults.setBounds(options.limits.bounds)
        if options.isUnfriendly { cloud.state.faults.setUnfriendly(seed: seed) }
        return cloud
    }

    private static let outsideRefusal =
        "This CKContainer was made outside of every test's cloud: in a detached task, on a queue or thread, or in a test "
        + "without `.cloud`. Make the container in the test or in a task that it starts with Task { }, and hand it on; or "
        + "give the test `.cloud`, or the code `withCloud { }`."

    /// The text of a schema, or of the file with one.
    private static func text(ofSchema schema: String) throws -> String {
        if schema.contains("\n") || schema.contains("DEFINE") { return schema }
        do {
            return try String(contentsOfFile: schema, encoding: .utf8)
        } catch {
            throw LocalCloudError(
                "The schema \(schema) cannot be read from \(FileManager.default.currentDirectoryPath).")
        }
    }

    /// The cloud's own clock: the times of its service and the pauses of its containers follow it.
    ///
    /// The program stops for a cloud that `LocalCloud()` made, which follows the system's clock: `withCloud` and `.cloud`
    /// make clouds with a clock.
    public var clock: CloudClock {
        guard let clock = state.clock else {
            fatalError(
                "LocalCloud.clock: this cloud follows the system's clock; withCloud and .cloud make those with one.")
        }
        return clock
    }

    /// The number from which the cloud's random decisions come. With the same number, a test makes the same.
    public var seed: UInt64 { state.seed }
}
