import Synchronization

/// The places of the sign-ins under way: a bound for all, and one for each network, so that one network leaves places
/// for others.
final class SignInPlaces: Sendable {
    private struct State {
        var total = 0
        var ofNetwork: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// - Parameter network: the network of the caller; empty if unknown.
    /// - Returns: false if there is no place.
    func take(_ network: String) -> Bool {
        state.withLock { state in
            let own = state.ofNetwork[network, default: 0]
            guard state.total < Limits.signInsUnderWay, own < Limits.signInsOfNetwork else { return false }
            state.total += 1
            state.ofNetwork[network] = own + 1
            return true
        }
    }

    func giveBack(_ network: String) {
        state.withLock { state in
            state.total -= 1
            let own = state.ofNetwork[network, default: 1] - 1
            state.ofNetwork[network] = own > 0 ? own : nil
        }
    }
}
