import CloudKit
import CloudKitTesting
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
}
