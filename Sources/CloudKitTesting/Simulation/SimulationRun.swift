import CloudKit
import CloudKitLocal
import Foundation
import NephosService

/// A run of a simulation, on a cloud of its own.
actor SimulationRun {
    let simulation: Simulation
    let cloud: LocalCloud
    var devices: [String: SimulatedDevice] = [:]
    var ledger = EditLedger()
    var generator: SplitMix
    var steps: Recent<Simulation.Step>
    var trace: SimulationTrace
    var notes: [String] = []
    var names = TraceNames()
    var problem: SimulationOutcome.Problem?
    private let executors = SimulationExecutors()
    /// Whether the service may have jobs to run or notifications to deliver.
    private var isServiceBusy = true
    /// Wakes the scheduler where an app is stuck: one timer for all waits, as a timer of each costs more than most waits.
    var alarm: Task<Void, Never>?

    /// - Parameter limit: the number of steps and lines to keep; nil for all.
    /// - Throws: `LocalCloudError` if the simulation has no device or account, a name twice, or an account that is none of its own.
    init(_ simulation: Simulation, keeping limit: Int?) async throws {
        guard !simulation.devices.isEmpty, let account = simulation.accounts.first,
            Set(simulation.devices).count == simulation.devices.count,
            simulation.signedIn.allSatisfy({ simulation.devices.contains($0) && simulation.accounts.contains($1) })
        else {
            throw LocalCloudError(
                "A simulation needs devices, each with another name, and an account; only its accounts sign in, on its "
                    + "devices.")
        }
        self.simulation = simulation
        (steps, trace) = (Recent(limit), SimulationTrace(limit))
        generator = SplitMix(state: simulation.seed)
        cloud = try await LocalCloud.forSimulation(seed: simulation.seed, limits: simulation.limits)
        alarm = Task { [weak self] in
            while (try? await Task.sleep(for: Self.alarmInterval)) != nil { await self?.wakeIfLate() }
        }
        for name in simulation.devices {
            let launch = makeLaunch()
            let account = simulation.signedIn[name] ?? account
            let device = CloudDevice(name, account: account, in: cloud, launch)
            devices[name] = SimulatedDevice(device: device, account: account, launch: launch, launching: Outcome())
            await self.launch(name)
        }
        await settle()
    }

    private static let alarmInterval = Duration.milliseconds(100)

    private func wakeIfLate() {
        for device in devices.values { device.launch.wakeIfLate() }
    }

    private func makeLaunch() -> SimulatedLaunch {
        SimulatedLaunch(
            seed: generator.next(), realTimeLimit: simulation.realTimeLimit,
            computingTime: simulation.computingTime, executors: executors)
    }

    var hasProblem: Bool { problem != nil }
    var situations: [DeviceSituation] { simulation.devices.compactMap { devices[$0]?.situation } }

    // MARK: Steps

    /// Does one step. Does nothing if it does not apply.
    func perform(_ step: Simulation.Step) async {
        steps.append(step)
        trace.append("\(step)")
        let start = ContinuousClock.now
        await apply(step)
        await settle()
        let duration = ContinuousClock.now - start
        if duration > .seconds(1), notes.count < 5 {
            let seconds = Double(duration.microseconds / 100_000) / 10
            notes.append("Step \(steps.count), \(step), took \(seconds) s of real time.")
        }
        for name in simulation.devices { await collect(name) }
        await checkInvariants()
    }

    func apply(_ step: Simulation.Step) async {
        switch step {
        case .edit(let name, let seed): await edit(name, seed)
        case .sync(let name): await sync(name)
        case .pass(let name): await pass(name)
        case .finish(let name): await finish(name)
        case .fail(let name, let code):
            await pass(name, with: FaultRule(.any, FaultCode(rawValue: code.rawValue) ?? .internalError))
        case .lose(let name): await pass(name, with: FaultRule(.any, .networkFailure), .after)
        case .cut(let name): await pass(name, with: FaultRule(.any, .networkFailure), .amid)
        case .crash(let name): await crash(name)
        case .crashAtEvent(let name, let event): devices[name]?.launch.endAtEvent(event)
        case .restart: await restart()
        case .restartDuring(let name):
            await pass(name, with: FaultRule(.any, .networkFailure), .after)
            await restart()
        case .offline(let name): devices[name]?.device.isOffline = true
        case .online(let name): devices[name]?.device.isOffline = false
        case .push(let name): await push(name)
        case .repeatPush(let name): await push(name, isLast: false)
        case .losePush(let name): devices[name]?.notifications = []
        case .signIn(let name, let account): await signIn(name, account)
        case .reinstall(let name): await reinstall(name)
        case .advance(let seconds): await advance(.seconds(seconds))
        case .forgetDeletions: await forgetDeletions()
        case .purge(let account): await purge(account)
        case .check: await conclude()
        }
    }

    func edit(_ name: String, _ seed: UInt64) async {
        guard let device = devices[name], let app = device.app, device.editing == nil, !device.isStranger else {
            return
        }
        let before = await read(name)?.contents
        let label = "\(name) \(steps.count)"
        let outcome = device.start { () -> [String: String?] in
            var random = SimulationRandom(seed: seed, label: label)
            return try await app.edit(using: &random)
        }
        devices[name]?.editing = .init(before: before, outcome: outcome)
        await rest(name)
    }

    func sync(_ name: String) async {
        guard let device = devices[name], let app = device.app, device.syncing == nil else { return }
        devices[name]?.syncing = .init(
            outcome: device.start { try await app.sync() }, edits: ledger.count,
            isWithoutFault: !device.device.isOffline)
        await rest(name)
    }

    /// Lets the request that waits longest go on.
    func pass(_ name: String, with fault: FaultRule? = nil, _ stage: FaultRule.Stage = .before) async {
        guard let device = devices[name], let request = device.launch.waiting.first else { return }
        let faults = cloud.state.faults
        var id: Int?
        // A request without a token has none that expires.
        if var fault, fault.code != .changeTokenExpired || RequestText.hasToken(request) {
            fault.address.device = name
            fault.stage = stage
            id = faults.add(fault)
        }
        if id != nil || device.device.isOffline { devices[name]?.syncing?.isWithoutFault = false }
        if id != nil, stage != .before { ledger.noteLostAnswer(device: name, account: device.account) }
        if id != nil, fault?.code == .changeTokenExpired {
            ledger.noteExpiredToken(device: name, account: device.account)
        }
        passFirst(device.launch)
        await rest(name)
        if let cut = device.cut { faults.remove(cut) }
        devices[name]?.cut = nil
        // The request for the rest of a cut answer fails too, and may be the next.
        if stage == .amid, faults.entries.contains(where: { $0.id == id && $0.happened > 0 }) {
            devices[name]?.cut = id
        } else if let id {
            faults.remove(id)
        }
    }

    /// Passes everything until the device has nothing to do.
    func finish(_ name: String) async {
        for count in 0..<Self.longestFinish {
            await collect(name)
            // An app may try again until its network is back.
            if count > Self.longestOffline, devices[name]?.device.isOffline ?? false { return }
            guard let device = devices[name], problem == nil, !device.isIdle || !device.launch.isIdle else { return }
            if !device.launch.waiting.isEmpty {
                await pass(name)
            } else if device.launch.isSleeping, let deadline = cloud.clock.nextDeadline {
                await advance(cloud.clock.now.duration(to: deadline))
            } else {
                return await rest(name)
            }
        }
        let request = devices[name]?.launch.waiting.first
        report(
            .stuck,
            request.map { "'\(name)' sends requests without an end: \($0)." } ?? "'\(name)' sleeps without an end.")
    }

    static let longestFinish = 2000
    static let longestOffline = 50

    // MARK: Launches

    func launch(_ name: String) async {
        guard let device = devices[name] else { return }
        let (launch, cloudDevice) = (simulation.launch, device.device)
        devices[name]?.launching = device.start { try await launch(cloudDevice) }
        await rest(name)
    }

    /// Ends the app as the system does, and launches it again.
    /// - Parameter keepsDisk: whether it has its directory; false for a new installation.
    func crash(_ name: String, keepsDisk: Bool = true) async {
        guard let device = devices[name] else { return }
        if let editing = device.editing {
            // It may have returned just before.
            if let result = editing.outcome.value {
                note(result, of: editing, device)
            } else {
                ledger.noteInterruption(account: device.account)
            }
        }
        ledger.noteLostAnswer(device: name, account: device.account)
        device.launch.end()
        let next = makeLaunch()
        do {
            try device.device.relaunch(next, keepsDisk: keepsDisk)
        } catch {
            report(.launch, "The directory of '\(name)' cannot be copied: \(error)")
        }
        devices[name]?.launch = next
        devices[name]?.checked = nil
        devices[name]?.editing = nil
        devices[name]?.syncing = nil
        await launch(name)
        if !device.isStranger { await noteShown(name) }
    }

    func reinstall(_ name: String) async {
        guard let device = devices[name] else { return }
        device.launch.end()
        ledger.noteLoss(device: name, account: device.account, isOwned: device.hasSynced)
        devices[name]?.hasSynced = false
        await crash(name, keepsDisk: false)
    }

    func signIn(_ name: String, _ account: String) async {
        guard devices[name]?.account != account else { return }
        isServiceBusy = true
        // The system lets the app finish what it began as the other account.
        await finish(name)
        guard let device = devices[name] else { return }
        ledger.noteLoss(device: name, account: device.account, isOwned: device.hasSynced)
        devices[name]?.account = account
        devices[name]?.pushToken = nil
        devices[name]?.notifications = []
        devices[name]?.isStranger = true
        devices[name]?.hasSynced = false
        SimulatedLaunch.$current.withValue(device.launch) { device.device.signIn(account) }
        await rest(name)
    }

    // MARK: The service

    /// Waits until the service is idle, and delivers its notifications to the devices.
    func settle() async {
        guard isServiceBusy else { return }
        isServiceBusy = false
        await cloud.settle()
        await takeNotifications()
    }

    private func passFirst(_ launch: SimulatedLaunch) {
        // What only reads leaves the service nothing to do.
        let isRead = launch.waiting.first.map { $0.hasPrefix("changes/") || $0 == "users/current" } ?? true
        if !isRead { isServiceBusy = true }
        launch.passFirst()
    }

    private func restart() async {
        isServiceBusy = true
        await cloud.restart()
    }

    func advance(_ duration: Duration) async {
        // What the service does later may be due.
        isServiceBusy = true
        let clock = cloud.clock
        let end = clock.now.advanced(by: duration)
        // One waiting task after the other, so that each run has the same order.
        while let next = clock.nextDeadline, next <= end {
            clock.advance(by: clock.now.duration(to: next))
            for name in simulation.devices { await rest(name) }
        }
        clock.advance(by: clock.now.duration(to: end))
        for name in simulation.devices { await rest(name) }
    }

    func forgetDeletions() async {
        isServiceBusy = true
        await cloud.settle()
        try? await cloud.forgetDeletions()
        for device in devices.values { ledger.noteExpiredToken(device: device.device.name, account: device.account) }
    }

    func purge(_ account: String) async {
        let zones = try? await cloud.removeZones(named: nil, ofAccount: account, reason: .purged)
        guard let zones, !zones.isEmpty else { return }
        isServiceBusy = true
        let affected = simulation.devices.filter { devices[$0]?.account == account }
        // A sync that runs may end without learning of it.
        for name in simulation.devices { devices[name]?.syncing?.isWithoutFault = false }
        // The default zone and its records stay.
        let stays = await hasRecordsInDefaultZone(account)
        ledger.notePurge(account: account, isWhole: !stays, devices: affected, all: simulation.devices)
    }

    private func hasRecordsInDefaultZone(_ account: String) async -> Bool {
        let zones = try? await cloud.snapshot().zones
        return zones?.contains { $0.key.account == account && $0.key.isPermanent && !$0.value.isEmpty } ?? true
    }

    // MARK: What the app did

    /// Returns once the device moves no more.
    func rest(_ name: String) async {
        // An app that is stuck once is not waited for again.
        guard let launch = devices[name]?.launch, problem?.kind != .stuck else { return }
        let rest = await launch.rest()
        if launch.isAtEvent {
            trace.append("  '\(name)' ends at an event")
            return await crash(name)
        }
        for answer in launch.takeAnswers() { trace.append("  \(name): \(names.numbered(answer))") }
        if rest == .stuck {
            report(
                .stuck,
                "'\(name)' waits for something that is neither the service nor the clock: a lock, or a pause that does not use "
                    + "cloud.clock.")
        }
        await collect(name)
    }

    /// Takes over what has returned.
    func collect(_ name: String) async {
        guard let device = devices[name] else { return }
        if case .failure(let error) = device.launching.value {
            report(.launch, "The app cannot be launched on '\(name)': \(error)")
        }
        if let editing = device.editing, let result = editing.outcome.value {
            devices[name]?.editing = nil
            note(result, of: editing, device)
            await noteShown(name)
        }
        if let syncing = device.syncing, let result = syncing.outcome.value {
            devices[name]?.syncing = nil
            if case .failure(let error) = result {
                devices[name]?.lastError = error
            } else {
                devices[name]?.lastError = nil
            }
            if case .success = result, syncing.isWithoutFault {
                devices[name]?.isStranger = false
                devices[name]?.hasSynced = true
                ledger.noteSync(device: name, account: device.account, edits: syncing.edits)
            }
            await noteShown(name)
        }
    }

    /// Notes what a device shows. Which share a new item is in, its edit does not say: without this, the item of a share that is
    /// removed before the device syncs would count as the account's own.
    func noteShown(_ name: String) async {
        guard let shown = await read(name), let device = devices[name] else { return }
        ledger.note(shown, device: name, account: device.account)
    }

    func note(
        _ result: Result<[String: String?], any Error>, of editing: SimulatedDevice.Editing, _ device: SimulatedDevice
    ) {
        switch result {
        case .success(let changes):
            for (item, value) in names.sorted(changes) {
                let text = value.map { "\(item) = \($0.debugDescription)" } ?? "deletes \(item)"
                trace.append("  \(device.name): \(names.numbered(text))")
            }
            ledger.note(changes, device: device.name, account: device.account, before: editing.before)
        case .failure(let error):
            let text = (error as? CKError).map { "\($0.code)" } ?? "\(error)"
            trace.append("  \(device.name): the edit fails, \(names.numbered(text))")
            ledger.noteInterruption(account: device.account)
        }
    }

    /// Returns what a device shows; nil if that fails, or needs requests behind others.
    func read(_ name: String) async -> ShownItems? { try? await readResult(name)?.get() }

    func readResult(_ name: String) async -> Result<ShownItems, any Error>? {
        await ask(name) { ShownItems(contents: try await $0.contents, shares: try await $0.shares) }
    }

    /// Asks the app on a device, and passes the requests of the answer.
    /// - Returns: nil if there is no app, or if the answer needs requests behind others.
    func ask<Value: Sendable>(
        _ name: String, _ body: @escaping @Sendable (any SimulatedApp) async throws -> sending Value
    ) async -> Result<Value, any Error>? {
        guard let device = devices[name], let app = device.app, problem?.kind != .stuck else { return nil }
        let isFree = device.launch.waiting.isEmpty
        let outcome = device.start { try await body(app) }
        _ = await device.launch.rest()
        while isFree, outcome.value == nil, !device.launch.waiting.isEmpty, !device.launch.isAtEvent {
            passFirst(device.launch)
            _ = await device.launch.rest()
        }
        return outcome.value
    }

    func checkInvariants() async {
        for name in simulation.devices where problem == nil {
            guard let device = devices[name], device.isIdle, device.launch.changes != device.checked else { continue }
            if case .failure(let error) = await ask(name, { try await $0.checkInvariants() }) {
                report(.invariant, "'\(name)' breaks an invariant of the app: \(error)")
            }
            devices[name]?.checked = device.launch.changes
        }
    }

    func report(_ kind: SimulationFailure.Kind, _ text: String) {
        if problem == nil { problem = .init(kind: kind, text: names.numbered(text)) }
    }
}
