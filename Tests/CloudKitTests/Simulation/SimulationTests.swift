import Foundation
import Testing

/// `NEPHOS_SIMULATION_STEPS` and `NEPHOS_SIMULATION_SEED` run more of it, or one course of events again.
@Suite(.serialized) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let steps = environment["NEPHOS_SIMULATION_STEPS"].flatMap { Int($0) } ?? 1200
    private static let seeds: [UInt64] =
        environment["NEPHOS_SIMULATION_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? [1, 2, 3, 108]

    @Test(arguments: seeds)
    func `when all devices are idle, they have the server's records, none lost or doubled`(
        seed: UInt64
    ) async throws {
        let simulation = try Simulation(seed: seed)
        try await simulation.run(steps: Self.steps)
        #expect(
            simulation.problems == [],
            "NEPHOS_SIMULATION_SEED=\(seed) NEPHOS_SIMULATION_STEPS=\(Self.steps); the last steps: \(simulation.course.suffix(12))"
        )
        #expect(simulation.commits > Self.steps / 20)
    }

    @Test func `one seed gives one sequence of events`() async throws {
        let (one, two) = (try Simulation(seed: 7), try Simulation(seed: 7))
        try await one.run(steps: 300)
        try await two.run(steps: 300)
        #expect(one.course == two.course && one.commits == two.commits)
    }
}
