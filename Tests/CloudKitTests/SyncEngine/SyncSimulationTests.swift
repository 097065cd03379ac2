import CloudKitTesting
import Foundation
import Testing

@testable import CloudKit

/// Sync engines of five devices and two accounts over two zones, with everything going wrong that can.
@Suite(.serialized) struct SyncSimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// `NEPHOS_SIMULATION_STEPS` and `NEPHOS_SIMULATION_SEED` run more of it, or one course of events again.
    private static let steps = environment["NEPHOS_SIMULATION_STEPS"].flatMap { Int($0) } ?? 400
    private static let seeds: [UInt64] =
        environment["NEPHOS_SIMULATION_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3, 108]

    private func simulation(seed: UInt64) -> Simulation {
        let apps = Box<[String: SimulatedNotes]>([:])
        return Simulation(
            seed: seed, devices: ["a", "b", "c", "d", "e"], accounts: ["mei", "tom"],
            signedIn: ["b": "tom", "d": "tom"],
            // What the storage has no room for, this app does not send again.
            disturbances: Set(Simulation.Disturbance.allCases).subtracting([.quota])
        ) { try SimulatedNotes($0, apps) }
    }

    @Test(arguments: seeds)
    func `when all devices are idle, they have the same records, each fetched once`(seed: UInt64) async throws {
        let trace = try await simulation(seed: seed).run(steps: Self.steps)
        // Of a long run the trace has the last lines alone.
        #expect(trace.count { $0.contains(": records/modify: save") } > min(Self.steps, 2000) / 40)
    }
}

/// Notes of few names, which are used again after a deletion, in two zones that come and go.
private final class SimulatedNotes: SimulatedApp {
    private static let zones = ["Notes", "Lists"].map { CKRecordZone.ID(zoneName: $0) }

    private struct Unexpected: Error { var problems: [String] }

    private let app: SyncDevice
    private let clock: CloudClock
    private let problems = Box<[String]>([])

    /// - Parameter apps: the apps by the contents of their devices' disks.
    init(_ device: CloudDevice, _ apps: Box<[String: SimulatedNotes]>) throws {
        let file = try device.diskDirectory.appendingPathComponent("app")
        let former = FileManager.default.contents(atPath: file.path).flatMap {
            apps.value[String(decoding: $0, as: UTF8.self)]
        }
        app = SyncDevice(former?.app.saved ?? .init())
        clock = device.clock
        let name = UUID().uuidString
        apps.value[name] = self
        try Data(name.utf8).write(to: file)
        app.encrypts.value = true
        app.start(CKContainer.default().privateCloudDatabase, environment: nil)
    }

    func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        let (dice, zoneID) = (
            Int.random(in: 0..<100, using: &random), Self.zones.randomElement(using: &random) ?? .default
        )
        app.atomically.value = Bool.random(using: &random)
        var changes: [String: String?] = [:]
        switch dice {
        case ..<75:
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let (recordID, text) = (
                    CKRecord.ID(recordName: "r\(Int.random(in: 0..<12, using: &random))", zoneID: zoneID), random.text()
                )
                app.edit(recordID, text, at: Int(clock.date.timeIntervalSince1970))
                changes[Self.name(recordID)] = text
            }
        case ..<90:
            let known = app.notes.keys.sorted { Self.name($0) < Self.name($1) }
            guard let recordID = known.randomElement(using: &random) else { break }
            app.delete(recordID)
            changes[Self.name(recordID)] = .some(nil)
        case ..<92:
            let container = app.engine.database.session
            try? await AccountDevices(container.service, container: container.identifier).reset()
        case ..<96:
            // It would take the place of a deletion that was not sent.
            guard !app.engine.state.pendingDatabaseChanges.contains(.deleteZone(zoneID)) else { break }
            app.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        default:
            for recordID in app.notes.keys where recordID.zoneID == zoneID { changes[Self.name(recordID)] = .some(nil) }
            app.deleteZone(zoneID)
        }
        await app.engine.handOutState()
        return changes
    }

    func sync() async throws {
        do {
            try await app.engine.fetchChanges()
            try await app.engine.sendChanges()
        } catch let error as CKError {
            if !Self.expected.contains(error.code) { problems.value.append("unexpected \(error)") }
            throw error
        }
    }

    private static let expected: Set<CKError.Code> = [
        .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy, .partialFailure,
        .quotaExceeded, .operationCancelled,
    ]

    var contents: [String: String] {
        Dictionary(uniqueKeysWithValues: app.notes.map { (Self.name($0.key), $0.value.text) })
    }

    func checkInvariants() throws {
        let found = problems.value + app.takeProblems()
        if !found.isEmpty { throw Unexpected(problems: found) }
    }

    /// Permits every value: the deletion of a zone deletes other devices' edits in it, and a crash loses unsaved ones. This
    /// simulation checks that all devices agree.
    func permits(_ value: String?, for item: String, edits: [String?]) -> Bool { true }

    private static func name(_ recordID: CKRecord.ID) -> String { "\(recordID.zoneID.zoneName)/\(recordID.recordName)" }
}
