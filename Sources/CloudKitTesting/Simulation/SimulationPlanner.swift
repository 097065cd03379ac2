import CloudKit
import NephosService

/// What can happen to a device.
struct DeviceSituation: Sendable {
    let name: String
    let account: String
    /// Whether the app was launched to the end.
    let isLaunched: Bool
    /// Whether its user cannot edit now.
    let isEditing: Bool
    let isSyncing: Bool
    let isOffline: Bool
    /// Whether a notification is on its way.
    let isNotified: Bool
    /// The requests at the door.
    let waiting: [String]
}

/// Chooses the steps of a simulation.
struct SimulationPlanner {
    private let simulation: Simulation
    private var generator: SplitMix

    init(_ simulation: Simulation) {
        self.simulation = simulation
        generator = SplitMix(state: simulation.seed)
    }

    /// Returns the next step.
    mutating func next(_ devices: [DeviceSituation]) -> Simulation.Step {
        var choices: [(weight: Int, step: Simulation.Step)] = [(4, .advance(.random(in: 1...120, using: &generator)))]
        for device in devices {
            choices += moves(device)
            choices += disturbances(device)
        }
        // Later edits and disturbances hide what an earlier one broke.
        choices.append((8, .check))
        if simulation.disturbances.contains(.restarts) { choices.append((1, .restart)) }
        if simulation.disturbances.contains(.expiredTokens) { choices.append((2, .forgetDeletions)) }
        if simulation.disturbances.contains(.purges), let account = simulation.accounts.randomElement(using: &generator)
        {
            choices.append((1, .purge(account: account)))
        }
        var ticket = Int.random(in: 0..<choices.reduce(0) { $0 + $1.weight }, using: &generator)
        for choice in choices {
            ticket -= choice.weight
            if ticket < 0 { return choice.step }
        }
        return .advance(1)
    }

    private mutating func moves(_ device: DeviceSituation) -> [(weight: Int, step: Simulation.Step)] {
        let name = device.name
        // A small number is easier to read than one of 64 bits, and as random.
        let seed = UInt64.random(in: 0..<1_000_000, using: &generator)
        var moves: [(weight: Int, step: Simulation.Step)] = []
        // Edits during a save find apps that lose them.
        let isSaving = device.waiting.first?.contains(": save") ?? false
        if device.isLaunched, !device.isEditing { moves.append((isSaving ? 60 : 30, .edit(name, seed))) }
        if device.isLaunched, !device.isSyncing { moves.append((25, .sync(name))) }
        // `.finish` lets a run end without disturbances, so it is rare, and never chosen while a save waits.
        if device.isEditing || device.isSyncing && !isSaving || !device.isLaunched { moves.append((8, .finish(name))) }
        if !device.waiting.isEmpty { moves.append((30, .pass(name))) }
        if device.isNotified, !device.isOffline { moves.append((8, .push(name))) }
        return moves
    }

    private mutating func disturbances(_ device: DeviceSituation) -> [(weight: Int, step: Simulation.Step)] {
        let (name, wanted) = (device.name, simulation.disturbances)
        var steps: [(weight: Int, step: Simulation.Step)] = []
        if let request = device.waiting.first {
            if wanted.contains(.faults) {
                let codes: [CKError.Code] = [.networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy]
                let code = codes.randomElement(using: &generator) ?? .networkFailure
                // More gets lost with a save than with a fetch.
                let weight = request.contains(": save") ? 3 : 1
                steps += [(6 * weight, .fail(name, code)), (6 * weight, .lose(name)), (2 * weight, .cut(name))]
            }
            if wanted.contains(.restarts) { steps.append((1, .restartDuring(name))) }
            if wanted.contains(.quota), request.contains(": save") { steps.append((12, .fail(name, .quotaExceeded))) }
            if wanted.contains(.expiredTokens), RequestText.hasToken(request) {
                steps.append((3, .fail(name, .changeTokenExpired)))
            }
        }
        if wanted.contains(.notifications), device.isNotified {
            steps += [(4, .losePush(name))] + (device.isOffline ? [] : [(2, .repeatPush(name))])
        }
        if wanted.contains(.offline) { steps.append(device.isOffline ? (8, .online(name)) : (2, .offline(name))) }
        if wanted.contains(.crashes) {
            let event = Int.random(in: 1...6, using: &generator)
            steps += [(device.waiting.isEmpty ? 2 : 5, .crash(name)), (2, .crashAtEvent(name, event))]
        }
        if wanted.contains(.reinstalls), device.isLaunched { steps.append((1, .reinstall(name))) }
        if wanted.contains(.accountChanges), simulation.accounts.count > 1, device.isLaunched {
            let others = simulation.accounts.filter { $0 != device.account }
            if let account = others.randomElement(using: &generator) {
                steps.append((2, .signIn(name, account: account)))
            }
        }
        return steps
    }
}
