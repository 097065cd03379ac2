import CloudKitLocal
import NephosWire
import Synchronization

@testable import CloudKit

/// A device of the simulation: an app with its engine, a network that fails when it is told to, and a record of what
/// the engine handed over.
final class SimulatedDevice {
    static let container = "iCloud.simulation"

    let name: String
    var account: String
    var isOffline = false
    private(set) var app: SyncDevice
    private var network: FaultyService
    private let ledger: CommitLedger
    private let trouble = Box<[String]>([])
    /// What happens to the next requests, from 0 to 99 each; afterwards they pass.
    private let faults = Box<[Int]>([])

    init(_ name: String, account: String, _ cloud: LocalCloud, _ ledger: CommitLedger) {
        self.name = name
        self.account = account
        self.ledger = ledger
        app = SyncDevice()
        network = FaultyService(cloud.container(Self.container, account: account))
        start(cloud, with: SyncDevice.Disk())
    }

    static func database(_ cloud: LocalCloud, _ account: String) -> CKDatabase {
        cloud.container(container, account: account).privateCloudDatabase
    }

    var problems: [String] { trouble.value.map { "\(name): \($0)" } }
    var texts: [CKRecord.ID: String] { app.notes.mapValues(\.text) }
    var hasPendingChanges: Bool {
        !app.engine.state.pendingRecordZoneChanges.isEmpty || !app.engine.state.pendingDatabaseChanges.isEmpty
    }

    /// Starts the app with what is on its disk.
    func start(_ cloud: LocalCloud, with disk: SyncDevice.Disk) {
        app = SyncDevice(disk)
        network = FaultyService(cloud.container(Self.container, account: account))
        let (ledger, account, faults) = (ledger, account, faults)
        network.afterModifyingRecords.value = { ledger.note(account, $0, $1) }
        network.afterModifyingZones.value = { ledger.note(account, $0, $1) }
        network.fate.value = { _ in
            guard let dice = faults.value.first else { return .passes }
            faults.value.removeFirst()
            return Self.fate(dice)
        }
        app.start(network.container.privateCloudDatabase)
    }

    /// Talks to the service that took the other one's place.
    func connect(_ cloud: LocalCloud) {
        network.target.value = cloud.container(Self.container, account: account).session.service
    }

    private static func fate(_ dice: Int) -> FaultyService.Fate {
        switch dice {
        case ..<70: .passes
        case ..<78: .fails(.transport(.networkFailure, "cut"))
        case ..<90: .losesAnswer(.transport(.networkFailure, "cut after the request"))
        default:
            .fails(
                .refused(
                    ErrorDictionary(uuid: "u", serverErrorCode: .throttled, reason: "too many", retryAfter: 2)))
        }
    }

    /// Sends or fetches once; says how it ended.
    func sync(sends: Bool, faults dice: [Int]) async -> String {
        faults.value = isOffline ? Array(repeating: 70, count: 1000) : dice
        defer { faults.value = [] }
        do {
            if sends { try await app.engine.sendChanges() } else { try await app.engine.fetchChanges() }
            return "and is done"
        } catch let error as CKError {
            let expected: [CKError.Code] = [
                .networkFailure, .requestRateLimited, .serviceUnavailable, .zoneBusy, .partialFailure,
            ]
            if !expected.contains(error.code) { trouble.value.append("unexpected \(error)") }
            return "and gets \(error.code.rawValue)"
        } catch {
            trouble.value.append("unexpected \(error)")
            return "and fails"
        }
    }

    /// Syncs; gives what the disk had when the app got its nth event.
    func sync(sends: Bool, dyingAtEvent event: Int) async -> SyncDevice.Disk {
        let (count, saved) = (Box(0), Box<SyncDevice.Disk?>(nil))
        let app = app
        app.onEvent.value = { _ in
            count.value += 1
            if count.value == event { saved.value = app.saved }
        }
        _ = await sync(sends: sends, faults: [])
        await settle()
        return saved.value ?? app.stop()
    }

    /// Returns when the app has saved what it is to save.
    func settle() async {
        await app.engine.handOutState()
        trouble.value += app.takeProblems()
        app.clearLog()
    }
}
