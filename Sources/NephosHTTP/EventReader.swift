import Synchronization

/// The events of a stream (`text/event-stream`), out of the pieces in which it arrives.
package final class EventReader: Sendable {
    /// An event exceeds the maximum size.
    package struct Failure: Error {}

    /// The maximum size of an event in bytes.
    private static let limit = 4 * 1024 * 1024

    private struct State {
        var line: [UInt8] = []
        var data: [UInt8] = []
        var id: String?
        var lastEventID: String?
    }

    private let state = Mutex(State())

    package init() {}

    /// The identifier of the last whole event that has one; nil before.
    package var lastEventID: String? { state.withLock(\.lastEventID) }

    /// Adds a piece, and returns the data of the events that are whole with it.
    package func events(adding bytes: [UInt8]) throws -> [[UInt8]] {
        try state.withLock { state in
            var events: [[UInt8]] = []
            for byte in bytes {
                if byte != UInt8(ascii: "\n") {
                    state.line.append(byte)
                    guard state.line.count <= Self.limit else { throw Failure() }
                    continue
                }
                if let event = Self.end(&state) { events.append(event) }
                state.line.removeAll(keepingCapacity: true)
            }
            return events
        }
    }

    /// Takes a line: a field, a comment, or the empty line that ends an event.
    private static func end(_ state: inout State) -> [UInt8]? {
        if state.line.isEmpty {
            defer { (state.data, state.id) = ([], nil) }
            guard !state.data.isEmpty else { return nil }
            state.lastEventID = state.id ?? state.lastEventID
            return state.data
        }
        if state.line.starts(with: "data: ".utf8) { state.data = Array(state.line.dropFirst(6)) }
        if state.line.starts(with: "id: ".utf8) {
            state.id = String(decoding: state.line.dropFirst(4), as: UTF8.self)
        }
        return nil
    }
}
