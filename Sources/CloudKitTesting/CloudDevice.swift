public import CloudKit
import CloudKitLocal
import Foundation
import NephosService
import Synchronization

/// A device of a test, on which an app is launched, ends, and is launched again.
///
///     let phone = cloud.device("phone", account: "mei")
///     try await phone.container.privateCloudDatabase.save(note)
///     phone.isOffline = true
public final class CloudDevice: Sendable {
    /// The device's name, by which faults address it.
    public let name: String
    /// The app on the device, from a launch to its end.
    private struct Launch {
        let app: LocalDevice
        let directory: ServiceDirectory
        let id: UUID
        let simulated: SimulatedLaunch?

        /// Resumes all suspended tasks of the ended app.
        func release() {
            simulated?.release()
            app.release()
        }
    }

    /// An ended launch. What still runs of its app may use its directory.
    private struct FormerLaunch {
        let launch: Launch
        let disk: URL
    }

    private struct State {
        var account: String?
        var launch: Launch
        var isOffline = false
        var disk = CloudDevice.makeDisk()
        var former: [FormerLaunch] = []
    }

    private let cloud: LocalCloud
    private let keys = DeviceKeys()
    private let state: Mutex<State>

    init(_ name: String, account: String?, in cloud: LocalCloud, _ simulated: SimulatedLaunch? = nil) {
        self.name = name
        self.cloud = cloud
        state = Mutex(State(account: account, launch: Self.launch(name, account, keys, cloud, simulated)))
    }

    private static func makeDisk() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("nephos-device-\(UUID().uuidString)")
    }

    private static func launch(
        _ name: String, _ account: String?, _ keys: DeviceKeys, _ cloud: LocalCloud, _ simulated: SimulatedLaunch?
    ) -> Launch {
        let known = cloud.state
        // No code awaits what a simulation ended.
        let app = LocalDevice(
            clientID: name, keyStore: keys, door: simulated, idleTimeout: simulated == nil ? known.idleTimeout : nil)
        let environment = CloudKitEnvironment(
            defaultContainerIdentifier: LocalCloud.defaultContainerIdentifier, name: .development)
        // Weak: the cloud holds its devices.
        let (directory, id) = ServiceDirectory.scoped(
            known.scope, environment, account: account, known.syncEnvironment(simulated),
            cloud.provider(account, .development, on: app))
        return Launch(app: app, directory: directory, id: id, simulated: simulated)
    }

    /// The cloud's clock, for an app that takes its times and pauses from a `Clock`. The program stops for a cloud that
    /// `LocalCloud()` made.
    public var clock: CloudClock { cloud.clock }

    /// The account of the device's user; nil if none is signed in.
    public var account: String? { state.withLock { $0.account } }

    /// The app's container, as `CKContainer.default()` returns it on this device. Containers that were made before a
    /// `terminate()` send nothing any more.
    public var container: CKContainer { container(LocalCloud.defaultContainerIdentifier) }

    /// Returns another container of the app.
    public func container(_ identifier: String) -> CKContainer { directory.container(identifier) }

    var directory: ServiceDirectory { state.withLock { $0.launch.directory } }

    /// Runs code of an app as on this device: in it and the tasks that it starts, `CKContainer.default()` and
    /// `CKContainer(identifier:)` mean containers of this device.
    public func run<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await ServiceDirectory.$scoped.withValue(directory, operation: body)
    }

    /// Whether the device has no network: its requests fail with `networkUnavailable`, and no notification reaches it.
    public var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set {
            state.withLock { $0.isOffline = newValue }
            cloud.state.faults.setOffline(newValue, device: name)
        }
    }

    /// Signs in another account, or none, as the device's user does in its settings: existing containers continue as that
    /// account, and `CKAccountChanged` is posted.
    public func signIn(_ account: String?) {
        let launch = state.withLock { state in
            state.account = account
            return state.launch
        }
        launch.directory.switchAccount(
            of: launch.id, to: account, cloud.provider(account, .development, on: launch.app))
    }

    /// Terminates the app without a warning, as the system does. Requests of its tasks, later ones included, stay suspended
    /// until the test ends or their task is cancelled: do not await them. After a minute of real time in which no other request
    /// comes they end with `operationCancelled`, and the test fails. `diskDirectory` keeps its files.
    public func terminate() { state.withLock { $0.launch }.app.end() }

    /// Launches the app again, after ending it: `container` is a new one from here on.
    public func relaunch() { relaunch(nil, disk: nil) }

    private func relaunch(_ simulated: SimulatedLaunch?, disk: URL?) {
        terminate()
        state.withLock { state in
            state.former.append(FormerLaunch(launch: state.launch, disk: state.disk))
            state.disk = disk ?? state.disk
            state.launch = Self.launch(name, state.account, keys, cloud, simulated)
        }
    }

    /// Launches the app of a simulation again.
    /// - Parameter keepsDisk: whether the new directory has what the former one has; false for a new installation.
    /// - Throws: the file system's error.
    func relaunch(_ simulated: SimulatedLaunch, keepsDisk: Bool) throws {
        let (old, new) = (state.withLock { $0.disk }, Self.makeDisk())
        // A directory of its own for each launch: in a long simulation the former apps do not wait until the end, and what they
        // then write is not the new one's.
        relaunch(simulated, disk: new)
        forgetLaunches()
        if keepsDisk, FileManager.default.fileExists(atPath: old.path) {
            try FileManager.default.copyItem(at: old, to: new)
        }
    }

    /// Resumes the suspended tasks of launches that ended long ago, and later removes their directories.
    private func forgetLaunches() {
        let (released, removed) = state.withLock { state -> (Launch?, URL?) in
            let count = state.former.count
            guard count > Self.keptLaunches else { return (nil, nil) }
            let released = state.former[count - Self.keptLaunches - 1].launch
            return (released, count > 2 * Self.keptLaunches ? state.former.removeFirst().disk : nil)
        }
        released?.release()
        if let removed { try? FileManager.default.removeItem(at: removed) }
    }

    /// The maximum number of ended launches whose tasks stay suspended. The tasks of each take memory.
    private static let keptLaunches = 100

    /// A directory for what the app keeps on the device. It exists until the cloud's test ends.
    /// - Throws: the file system's error if it cannot be made.
    public var diskDirectory: URL {
        get throws {
            let disk = state.withLock { $0.disk }
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
            return disk
        }
    }

    /// What is wrong where a test awaited requests of an app that had ended.
    var timedOut: CloudProblem? {
        let apps = state.withLock { ($0.former.map(\.launch) + [$0.launch]).map(\.app) }
        let requests = Set(apps.flatMap(\.timedOutRequests)).sorted()
        guard let first = requests.first else { return nil }
        let others = requests.count == 1 ? "" : " and \(requests.count - 1) others"
        return CloudProblem(
            text: "The app on '\(name)' was terminated, and its request `\(first)`\(others) waited for "
                + "\(cloud.state.idleLimit), in which no other came: the test must not await it.",
            place: nil)
    }

    /// What the sync engines of the running app have not sent or fetched.
    var leftovers: [String] {
        let launch = state.withLock { $0.launch }
        if launch.app.hasEnded { return [] }
        return (launch.directory.engines?.all ?? []).flatMap { engine -> [String] in
            let pending =
                engine.pendingDatabaseChanges.map(\.description) + engine.pendingRecordZoneChanges.map(\.description)
                + (engine.hasPendingUntrackedChanges ? ["untracked changes"] : [])
            let unfetched = engine.zoneIDsWithUnfetchedServerChanges.map(\.zoneName)
            return [
                pending.isEmpty ? nil : "a sync engine on '\(name)' has not sent \(pending.joined(separator: ", "))",
                unfetched.isEmpty
                    ? nil : "a sync engine on '\(name)' has not fetched \(unfetched.joined(separator: ", "))",
            ].compactMap(\.self)
        }
    }

    /// Terminates the app, and removes its directories.
    func discard() {
        let (launch, disk, former) = state.withLock { ($0.launch, $0.disk, $0.former) }
        launch.app.end()
        for launch in former.map(\.launch) + [launch] { launch.release() }
        launch.directory.remove(launch.id)
        for disk in Set(former.map(\.disk) + [disk]) { try? FileManager.default.removeItem(at: disk) }
    }
}

/// The keys of a device, which outlive the app.
private final class DeviceKeys: DeviceKeyStore {
    private let items = Mutex<[String: Data]>([:])

    func update(_ item: String, _ body: (inout Data?) -> Void) {
        items.withLock { body(&$0[item]) }
    }
}

extension LocalCloud {
    /// The name of the device whose containers `CKContainer.default()` means in a test with `.cloud`.
    public static let defaultDevice = "this device"

    /// Returns the device with a name, which exists from the first call on. At first the account `me` is signed in.
    public func device(_ name: String = LocalCloud.defaultDevice) -> CloudDevice {
        madeDevice(name, account: Self.defaultAccount)
    }

    /// Returns the device with a name, which exists from the first call on.
    ///
    /// The program stops if the device exists and another account is signed in: `CloudDevice.signIn(_:)` switches it.
    /// - Parameter account: the account that is signed in; nil for none.
    public func device(_ name: String = LocalCloud.defaultDevice, account: String?) -> CloudDevice {
        let device = madeDevice(name, account: account)
        let signedIn = device.account
        guard signedIn == account else {
            fatalError(
                """
                LocalCloud.device: \(account ?? "no account") is asked for on the device '\(name)', where \
                \(signedIn ?? "no account") is signed in: device("\(name)").signIn(_:) switches the account.
                """)
        }
        return device
    }

    private func madeDevice(_ name: String, account: String?) -> CloudDevice {
        let state = state
        if let device = state.devices.withLock({ $0[name] }) { return device }
        let new = CloudDevice(name, account: account, in: self)
        return state.devices.withLock { devices in
            let device = devices[name] ?? new
            devices[name] = device
            return device
        }
    }
}
