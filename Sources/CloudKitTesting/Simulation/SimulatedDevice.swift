import CloudKit
import CloudKitLocal
import Foundation
import Synchronization

/// A result that a task of the app sets.
final class Outcome<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    var value: Result<Value, any Error>? { result.withLock { $0 } }

    func set(_ body: () async throws -> sending Value) async {
        let made: Result<Value, any Error>
        do { made = .success(try await body()) } catch { made = .failure(error) }
        result.withLock { $0 = made }
    }
}

/// A device of a simulation: the app, and what it is doing.
struct SimulatedDevice {
    /// An edit that has not returned.
    struct Editing {
        let before: [String: String]?
        let outcome: Outcome<[String: String?]>
    }

    /// A sync that has not returned.
    struct Syncing {
        let outcome: Outcome<Void>
        /// The number of the account's edits when it began.
        let edits: Int
        /// Whether nothing went wrong with it so far.
        var isWithoutFault = true
    }

    let device: CloudDevice
    var account: String
    var launch: SimulatedLaunch
    var launching: Outcome<any SimulatedApp>
    var editing: Editing?
    var syncing: Syncing?
    /// The token for which the service keeps the notifications for the device's account; nil before they are asked for.
    var pushToken: String?
    /// The notifications that the service sent, and that have not arrived.
    var notifications: [CKNotification] = []
    /// The fault that cut the last answer.
    var cut: Int?
    /// Whether the app has not synced since its user signed in. Its user waits for that: an app that has not learned of the
    /// account takes an edit for the other one's.
    var isStranger = false
    /// Whether the app has synced since its installation and since its user signed in: then it knows whose its edits are.
    var hasSynced = false
    var lastError: (any Error)?
    /// How much had happened in the app when its invariants were checked; nil if they were not since its launch.
    var checked: Int?

    var name: String { device.name }

    var app: (any SimulatedApp)? {
        guard case .success(let app) = launching.value else { return nil }
        return app
    }

    var situation: DeviceSituation {
        DeviceSituation(
            name: name, account: account, isLaunched: app != nil, isEditing: editing != nil || isStranger,
            isSyncing: syncing != nil, isOffline: device.isOffline, isNotified: !notifications.isEmpty,
            waiting: launch.waiting)
    }

    /// Whether the app has nothing to do.
    var isIdle: Bool { launching.value != nil && editing == nil && syncing == nil }

    /// Starts a task of the app.
    func start<Value: Sendable>(_ body: @escaping @Sendable () async throws -> sending Value) -> Outcome<Value> {
        let outcome = Outcome<Value>()
        launch.start { [device] in
            await device.run { await outcome.set(body) }
        }
        return outcome
    }
}
