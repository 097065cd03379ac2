import Synchronization

/// A response body without an end of its own, such as a stream of events. It ends with the server.
package protocol EndlessBody: StreamedBody {
    /// Ends the body.
    /// - Returns: whether a read was waiting and has got the end. Otherwise the client has not taken what was sent.
    func end() -> Bool
    /// Takes a function that returns whether the client has gone, before the first read. Otherwise the next piece finds out.
    func watch(_ hasGone: @escaping @Sendable () -> Bool)
}

/// The endless bodies that are being sent. A stopping server ends them first, so that no stream delays its stop.
final class EndlessBodies: Sendable {
    private struct State {
        var senders: [ObjectIdentifier: ResponseSender] = [:]
        var isEnded = false
    }

    private let state = Mutex(State())

    /// Adds a response. It ends at once if the server is stopping.
    func add(_ sender: ResponseSender) {
        let isEnded = state.withLock { state in
            state.senders[ObjectIdentifier(sender)] = sender
            return state.isEnded
        }
        if isEnded { sender.endBody() }
    }

    func remove(_ sender: ResponseSender) {
        state.withLock { _ = $0.senders.removeValue(forKey: ObjectIdentifier(sender)) }
    }

    /// Ends all bodies, and those that begin later.
    func endAll() {
        let senders = state.withLock { state in
            state.isEnded = true
            return Array(state.senders.values)
        }
        for sender in senders { sender.endBody() }
    }
}
