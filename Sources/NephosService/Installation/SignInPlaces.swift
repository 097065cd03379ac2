import Synchronization

/// The places of the sign-ins under way: a bound for all, and one for each network, so that one network leaves places
/// for others. Who finds its network's places taken waits in line, as 50 people behind one address do. Sign-ins that
/// wait have a bound of their own, so they take no place from another network.
final class SignInPlaces: Sendable {
    private struct Network {
        var taken = 0
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private struct State {
        var taken = 0
        var waiting = 0
        var networks: [String: Network] = [:]
    }

    private let state = Mutex(State())

    /// Takes a place, and waits for one if the network's are taken.
    /// - Parameter network: the network of the caller; empty if unknown.
    /// - Returns: false if there is no place, and none to wait for.
    func take(_ network: String) async -> Bool {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state -> Bool? in
                var own = state.networks[network] ?? Network()
                let isFree = own.taken < Limits.signInsOfNetwork
                if isFree {
                    guard state.taken < Limits.signInsUnderWay else { return false }
                    state.taken += 1
                    own.taken += 1
                } else {
                    guard state.waiting < Limits.waitingSignIns, own.waiting.count < Limits.waitingSignInsOfNetwork
                    else { return false }
                    state.waiting += 1
                    own.waiting.append(continuation)
                }
                state.networks[network] = own
                return isFree ? true : nil
            }
            if let isFree { continuation.resume(returning: isFree) }
        }
    }

    /// Gives a place back, to the sign-in of the network that has waited longest.
    func giveBack(_ network: String) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard var own = state.networks[network] else { return nil }
            let next = own.waiting.isEmpty ? nil : own.waiting.removeFirst()
            if next == nil {
                own.taken -= 1
                state.taken -= 1
            } else {
                state.waiting -= 1
            }
            state.networks[network] = own.taken > 0 ? own : nil
            return next
        }
        next?.resume(returning: true)
    }
}
