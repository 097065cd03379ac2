import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite struct SimulatedNotificationsTests {
    /// Returns how often each device was notified in some steps, after the phone saved an item and the pad had subscribed.
    private func notified(_ steps: [Simulation.Step]) async throws -> [String: Int] {
        let simulation = ReportedBug.lostPush.simulation(seed: 1, isMended: true)
        let trace = try await simulation.replay(
            [
                .sync("pad"), .finish("pad"), .edit("phone", 1), .sync("phone"), .finish("phone"),
            ] + steps)
        // At the end all late notifications are delivered.
        let lines = trace.prefix { $0 != "every device is online and syncs" }
        return Dictionary(grouping: lines.filter { $0.hasSuffix(" is notified") }) { line in
            line.contains("'pad'") ? "pad" : "phone"
        }.mapValues(\.count)
    }

    @Test func `a notification of the service reaches the other devices of the account`() async throws {
        #expect(try await notified([.push("pad"), .push("phone")]) == ["pad": 1])
    }

    @Test func `a device that is offline is notified when it is online`() async throws {
        #expect(try await notified([.offline("pad"), .push("pad")]) == [:])
        #expect(try await notified([.offline("pad"), .push("pad"), .online("pad"), .push("pad")]) == ["pad": 1])
    }

    @Test func `a notification gets lost or arrives twice`() async throws {
        #expect(try await notified([.losePush("pad"), .push("pad")]) == [:])
        #expect(try await notified([.repeatPush("pad"), .push("pad"), .push("pad")]) == ["pad": 2])
    }

    @Test func `notifications outlive a restart of the service`() async throws {
        #expect(try await notified([.restart, .push("pad")]) == ["pad": 1])
    }

    /// Returns what happens on the pad after it was notified, up to the end of the steps, of an edit that the phone has sent.
    private func answer<App: ReportedApp>(
        of app: App.Type, _ steps: [Simulation.Step] = [.push("pad"), .finish("pad")]
    ) async throws -> [String] {
        let simulation = Simulation(seed: 1) { try await app.init($0, isMended: true) }
        let trace = try await simulation.replay(
            [
                .finish("pad"), .finish("phone"), .sync("pad"), .finish("pad"), .edit("phone", 1), .sync("phone"),
                .finish("phone"),
            ] + steps + [.check])
        let first = trace.firstIndex(of: "  'pad' is notified") ?? trace.endIndex
        return trace[first...].prefix { $0 != ".check" }.filter { $0.hasPrefix("  pad: ") }
    }

    @Test func `an engine that syncs by itself fetches when it is notified`() async throws {
        let answer = try await answer(of: AutomaticApp.self)
        #expect(
            answer == ["  pad: changes/database: changes", "  pad: changes/zone: changes in Items from the beginning"])
        // An engine that does not, fetches on request.
        #expect(try await self.answer(of: EngineApp.self) == [])
    }

    @Test func `a loop over the notifications of the container gets them, and is waited for`() async throws {
        let once = try await answer(of: LoopingApp.self)
        #expect(once == ["  pad: changes/zone: changes in Items from the beginning"])
        // While the loop handles the first, the second waits for it.
        let twice = try await answer(
            of: LoopingApp.self, [.repeatPush("pad"), .push("pad"), .pass("pad"), .finish("pad")])
        #expect(twice == once + ["  pad: changes/zone: changes in Items"])
    }

    private static let seeds = 1...(ProcessInfo.processInfo.environment["NEPHOS_SIMULATIONS"].flatMap(UInt64.init) ?? 2)

    @Test(arguments: seeds) func `engines that sync by themselves agree`(seed: UInt64) async throws {
        try await Simulation(seed: seed, accounts: ["mei", "tom"]) { try await AutomaticApp($0, isMended: true) }
            .run(steps: 200)
    }

    @Test(arguments: UInt64(1)...20) func `an engine that syncs by itself does the same each time`(
        seed: UInt64
    ) async throws {
        func trace() async throws -> [String] {
            var simulation = Simulation(seed: seed) { try await AutomaticApp($0, isMended: true) }
            // None of its tasks waits for another, and the tests beside it may take both processors.
            (simulation.computingTime, simulation.realTimeLimit) = (.seconds(120), .seconds(300))
            return try await simulation.run(steps: 60)
        }
        #expect(try await trace() == trace())
    }
}

/// An app whose engine sends and fetches by itself.
private final class AutomaticApp: EngineApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override class var automaticallySyncs: Bool { true }
}

/// An app that fetches when it is notified, in a loop of its own.
private final class LoopingApp: HandmadeApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    required init(_ device: CloudDevice, isMended: Bool) async throws {
        try await super.init(device, isMended: isMended)
        try await database.save(CKDatabaseSubscription(subscriptionID: "items"))
        let notifications = try await container.notifications()
        Task { [weak self] in
            for await _ in notifications { try? await self?.fetch() }
        }
    }
}
