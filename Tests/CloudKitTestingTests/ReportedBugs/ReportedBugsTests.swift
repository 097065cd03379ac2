import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Each app with a bug that people reported, and what its simulation needs.
enum ReportedBug: String, CaseIterable, CustomTestStringConvertible {
    case childDropped, droppedWhenBusy, droppedWhenFull, lostInCrash, expiredForEver, undonePurge, anothersItems
    case undoneDeletion, tooManyRecords, failureReadAsSuccess, emptyStore, lostPush

    var app: ReportedApp.Type {
        switch self {
        case .childDropped: ChildDropped.self
        case .droppedWhenBusy: DroppedWhenBusy.self
        case .droppedWhenFull: DroppedWhenFull.self
        case .lostInCrash: LostInCrash.self
        case .expiredForEver: ExpiredForEver.self
        case .undonePurge: UndonePurge.self
        case .anothersItems: AnothersItems.self
        case .undoneDeletion: UndoneDeletion.self
        case .tooManyRecords: TooManyRecords.self
        case .failureReadAsSuccess: FailureReadAsSuccess.self
        case .emptyStore: EmptyStore.self
        case .lostPush: LostPush.self
        }
    }

    func simulation(seed: UInt64, isMended: Bool) -> Simulation {
        let app = app
        return Simulation(
            seed: seed, accounts: self == .anothersItems ? ["mei", "tom"] : ["mei"],
            limits: self == .tooManyRecords ? .tight : .apple
        ) { try await app.init($0, isMended: isMended) }
    }

    var testDescription: String { rawValue }
}

@Suite struct ReportedBugsTests {
    /// The seeds with which a mended app has to pass: as many as `NEPHOS_SIMULATIONS` says.
    private static let seeds = 1...(ProcessInfo.processInfo.environment["NEPHOS_SIMULATIONS"].flatMap(UInt64.init) ?? 1)
    /// The steps of such a test: as many as `NEPHOS_SIMULATION_STEPS` says.
    private static let steps = ProcessInfo.processInfo.environment["NEPHOS_SIMULATION_STEPS"].flatMap { Int($0) } ?? 300

    @Test(arguments: ReportedBug.allCases) func `a simulation finds the bug`(bug: ReportedBug) async throws {
        for seed in UInt64(1)...20 {
            do {
                try await bug.simulation(seed: seed, isMended: false).run(steps: Self.steps, shrinkingFor: .zero)
            } catch is SimulationFailure {
                return
            }
        }
        Issue.record("20 simulations found nothing")
    }

    @Test(arguments: ReportedBug.allCases) func `a simulation passes the mended app`(bug: ReportedBug) async throws {
        for seed in Self.seeds { try await bug.simulation(seed: seed, isMended: true).run(steps: Self.steps) }
    }
}
