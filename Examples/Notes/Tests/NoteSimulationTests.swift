import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite struct NoteSimulationTests {
    /// As many as `NEPHOS_SIMULATIONS` says.
    private static let seeds = 1...(ProcessInfo.processInfo.environment["NEPHOS_SIMULATIONS"].flatMap(UInt64.init) ?? 1)

    private func simulation(seed: UInt64, _ defect: Defect? = nil) -> Simulation {
        Simulation(seed: seed, devices: ["phone", "pad"], accounts: ["mei", "tom"]) { device in
            try await SimulatedNotes(device, defect)
        }
    }

    @Test(arguments: seeds) func `nothing is lost, whatever goes wrong`(seed: UInt64) async throws {
        try await simulation(seed: seed).run(steps: 300)
    }

    @Test func `a note that was never sent is that of the account that syncs first`() async throws {
        try await simulation(seed: 580).replay([
            .offline("phone"), .edit("phone", 151_303), .signIn("phone", account: "tom"),
            .signIn("phone", account: "mei"), .sync("phone"), .signIn("phone", account: "tom"),
        ])
    }

    @Test(arguments: Defect.allCases) func `a simulation finds the defect`(defect: Defect) async throws {
        for seed in UInt64(1)...20 {
            do {
                try await simulation(seed: seed, defect).run(steps: 300, shrinkingFor: .zero)
            } catch is SimulationFailure {
                return
            }
        }
        Issue.record("20 simulations found nothing")
    }
}
