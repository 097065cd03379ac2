import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Accounts share items, and their devices edit them.
@Suite struct SharedSimulationTests {
    private func simulation(seed: UInt64, isMended: Bool) -> Simulation {
        Simulation(
            seed: seed, devices: ["phone", "pad", "tom's phone", "tom's pad"], accounts: [SharingApp.owner, "tom"],
            signedIn: ["tom's phone": "tom", "tom's pad": "tom"],
            disturbances: Set(Simulation.Disturbance.allCases).subtracting([.accountChanges])
        ) { try await SharingApp($0, isMended: isMended) }
    }

    private static let seeds = 1...(ProcessInfo.processInfo.environment["NEPHOS_SIMULATIONS"].flatMap(UInt64.init) ?? 4)

    @Test(arguments: seeds) func `all devices of the participants of a share agree`(seed: UInt64) async throws {
        try await simulation(seed: seed, isMended: true).run(steps: 300)
    }

    @Test func `a participant's edit that is never sent is found`() async throws {
        for seed in UInt64(1)...20 {
            do {
                try await simulation(seed: seed, isMended: false).run(steps: 300, shrinkingFor: .zero)
            } catch let failure as SimulationFailure {
                #expect([.lostEdit, .divergence, .returnedDeletion].contains(failure.kind), "\(failure)")
                return
            }
        }
        Issue.record("20 simulations found nothing")
    }

    @Test func `an account that is none of the simulation's cannot be signed in`() async throws {
        let simulation = Simulation(seed: 1, signedIn: ["pad": "ann"]) { try PlainNotes($0) }
        await #expect(throws: LocalCloudError.self) { try await simulation.run(steps: 1) }
    }
}
