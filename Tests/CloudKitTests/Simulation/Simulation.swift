import CloudKitLocal
import Foundation
import NephosTesting
import Synchronization

@testable import CloudKit

/// Several devices of two accounts on one cloud, with everything going wrong that can. One seed gives one course of
/// events: a step is finished before the next one begins, and all chance comes from the seed.
final class Simulation {
    static let accounts = ["mei", "tom"]
    static let zones = ["Notes", "Lists"]
    static let names = (0..<12).map { "r\($0)" }

    private let cloud: SimulatedCloud
    private let ledger = CommitLedger()
    private var random: SeededGenerator
    private var devices: [SimulatedDevice] = []
    private var step = 0
    /// What happened, one line a step: two runs of one seed have the same.
    private(set) var course: [String] = []
    private(set) var problems: [String] = []

    init(seed: UInt64, devices count: Int = 5) throws {
        cloud = try SimulatedCloud()
        random = SeededGenerator(seed: seed)
        for number in 0..<count {
            devices.append(SimulatedDevice("d\(number)", account: Self.accounts[number % 2], cloud.cloud, ledger))
        }
    }

    var commits: Int { ledger.commits }

    func run(steps: Int) async throws {
        for _ in 0..<steps where problems.isEmpty {
            step += 1
            cloud.advance(milliseconds: .random(in: 1...600_000, using: &random))
            try await takeStep()
            problems += ledger.problems + devices.flatMap(\.problems)
        }
        try await quieten()
        await cloud.cloud.close()
    }

    // MARK: Steps

    private func takeStep() async throws {
        let device = devices.randomElement(using: &random) ?? devices[0]
        let dice = Int.random(in: 0..<1000, using: &random)
        let what: String
        switch dice {
        case ..<430: what = edit(device)
        case ..<500: what = delete(device)
        case ..<660: what = await sync(device, sends: true)
        case ..<820: what = await sync(device, sends: false)
        case ..<880: what = await crash(device)
        case ..<915:
            device.isOffline.toggle()
            what = device.isOffline ? "offline" : "online"
        case ..<935: what = await changeZone(device)
        case ..<950: what = await removeByUser(device)
        case ..<965: what = await switchAccount(device)
        case ..<985:
            try await restartServer()
            what = "server restarts"
        default:
            await cloud.cloud.settle()
            try await cloud.cloud.forgetDeletions(before: cloud.now)
            what = "deletions forgotten"
        }
        await device.settle()
        course.append("\(step) \(device.name) \(what) \(device.texts.count)")
    }

    private func recordID() -> CKRecord.ID {
        CKRecord.ID(
            Self.names.randomElement(using: &random) ?? "r", Self.zones.randomElement(using: &random) ?? "Notes")
    }

    private func edit(_ device: SimulatedDevice) -> String {
        var edited: [String] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let recordID = recordID()
            device.app.edit(recordID, "\(device.name) at \(step)", at: step)
            edited.append(recordID.recordName)
        }
        return "edits \(edited)"
    }

    private func delete(_ device: SimulatedDevice) -> String {
        let known = device.app.notes.keys.sorted {
            ($0.zoneID.zoneName, $0.recordName) < ($1.zoneID.zoneName, $1.recordName)
        }
        guard let recordID = known.randomElement(using: &random) else { return "has nothing to delete" }
        device.app.delete(recordID)
        return "deletes \(recordID.recordName)"
    }

    private func sync(_ device: SimulatedDevice, sends: Bool) async -> String {
        device.app.atomically.value = Bool.random(using: &random)
        let faults = (0..<6).map { _ in Int.random(in: 0..<100, using: &random) }
        let outcome = await device.sync(sends: sends, faults: faults)
        return (sends ? "sends " : "fetches ") + outcome
    }

    /// The app dies while it syncs, at one event or another, and starts again with what it had saved.
    private func crash(_ device: SimulatedDevice) async -> String {
        let event = Int.random(in: 1...8, using: &random)
        let sends = Bool.random(using: &random)
        device.app.atomically.value = Bool.random(using: &random)
        let disk = await device.sync(sends: sends, dyingAtEvent: event)
        device.start(cloud.cloud, with: disk)
        return "dies at event \(event) while it \(sends ? "sends" : "fetches")"
    }

    private func changeZone(_ device: SimulatedDevice) async -> String {
        let zoneID = CKRecordZone.ID(zoneName: Self.zones.randomElement(using: &random) ?? "Notes")
        guard Int.random(in: 0..<3, using: &random) == 0 else {
            // It would take the place of a deletion that was not sent.
            guard !device.app.engine.state.pendingDatabaseChanges.contains(.deleteZone(zoneID)) else { return "waits" }
            device.app.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
            return "makes \(zoneID.zoneName)"
        }
        device.app.deleteZone(zoneID)
        return "deletes \(zoneID.zoneName)"
    }

    private func removeByUser(_ device: SimulatedDevice) async -> String {
        let zone = Self.zones.randomElement(using: &random) ?? "Notes"
        let isReset = Bool.random(using: &random)
        do {
            try await cloud.cloud.removeZones(
                [CKRecordZone.ID(zoneName: zone)], ofAccount: device.account,
                reason: isReset ? .encryptedDataReset : .purged, inContainer: SimulatedDevice.container)
            ledger.noteRemoved(device.account, zone: zone)
            return "loses \(zone), \(isReset ? "reset" : "purged")"
        } catch {
            return "has no \(zone) to lose"
        }
    }

    private func switchAccount(_ device: SimulatedDevice) async -> String {
        let disk = device.app.stop()
        device.account = Self.accounts.first { $0 != device.account } ?? device.account
        device.start(cloud.cloud, with: disk)
        return "is \(device.account)'s now"
    }

    private func restartServer() async throws {
        await cloud.cloud.close()
        // Somebody asks while it is away.
        if let device = devices.randomElement(using: &random) { _ = await device.sync(sends: true, faults: []) }
        try await cloud.restart()
        for device in devices { device.connect(cloud.cloud) }
    }

    // MARK: The end

    /// Lets every device sync until nothing happens any more, and compares.
    private func quieten() async throws {
        for device in devices { device.isOffline = false }
        var isQuiet = false
        for _ in 0..<30 where !isQuiet {
            let before = ledger.commits
            for device in devices {
                _ = await device.sync(sends: true, faults: [])
                _ = await device.sync(sends: false, faults: [])
                await device.settle()
            }
            isQuiet = before == ledger.commits && devices.allSatisfy { !$0.hasPendingChanges }
        }
        problems += ledger.problems + devices.flatMap(\.problems)
        if !isQuiet { problems.append("it never became quiet") }
        for account in Self.accounts { try await compare(account) }
    }

    private func compare(_ account: String) async throws {
        let database = SimulatedDevice.database(cloud.cloud, account)
        var server: [CKRecord.ID: String] = [:]
        for zone in try await database.allRecordZones() where zone.zoneID != .default {
            var (token, more): (CKServerChangeToken?, Bool) = (nil, true)
            while more {
                let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
                for (recordID, result) in page.modificationResultsByID {
                    server[recordID] = try result.get().record["text"] as? String ?? "-"
                }
                (token, more) = (page.changeToken, page.moreComing)
            }
        }
        let committed = ledger.records(of: account).mapValues(\.text)
        if server != committed { problems.append("\(account): the server has \(difference(server, committed))") }
        for device in devices where device.account == account {
            let texts = device.app.notes.mapValues(\.text)
            if texts != server { problems.append("\(device.name) has \(difference(texts, server))") }
        }
    }

    private func difference(_ actual: [CKRecord.ID: String], _ expected: [CKRecord.ID: String]) -> String {
        Set(actual.keys).union(expected.keys).filter { actual[$0] != expected[$0] }.map { recordID in
            "\(recordID.zoneID.zoneName)/\(recordID.recordName): \(actual[recordID] ?? "nothing") instead of \(expected[recordID] ?? "nothing")"
        }.sorted().joined(separator: "; ")
    }
}
