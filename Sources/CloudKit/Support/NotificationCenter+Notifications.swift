public import Foundation

// Two parts of Foundation that code for CloudKit often uses but that Foundation on this platform lacks. The methods are
// disfavoured, so that Foundation's own methods win once they exist. `Notifications` has to be removed then.

extension NotificationCenter {
    /// Returns a sequence of the notifications of a name, as they are posted. Observation starts with this call, and
    /// ends once the sequence and its iterators are released.
    ///
    /// Code for Apple's platforms waits for `CKAccountChanged` with this method.
    @_disfavoredOverload
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(of: self, named: name, object: object)
    }

    /// The sequence that `notifications(named:object:)` returns, with the name that it has in Apple's Foundation.
    public final class Notifications: AsyncSequence, @unchecked Sendable {
        // Unchecked: the stream has its own lock, and Foundation does not mark the stream's element, `Notification`, as
        // Sendable.

        public typealias Element = Notification
        public typealias Failure = Never

        private let stream: AsyncStream<Notification>

        init(of center: NotificationCenter, named name: Notification.Name, object: AnyObject?) {
            let (stream, continuation) = AsyncStream.makeStream(of: Notification.self)
            let observer = center.addObserver(forName: name, object: object, queue: nil) { notification in
                // A notification does not change after it is posted.
                nonisolated(unsafe) let posted = notification
                continuation.yield(posted)
            }
            let observation = Observation(center: center, observer: observer)
            continuation.onTermination = { _ in observation.end() }
            self.stream = stream
        }

        /// An iterator over the posted notifications.
        public struct Iterator: AsyncIteratorProtocol {
            private var notifications: AsyncStream<Notification>.Iterator

            init(_ notifications: AsyncStream<Notification>.Iterator) { self.notifications = notifications }

            /// Waits for the next notification and returns it; nil once the task is cancelled.
            public mutating func next() async -> Notification? { await notifications.next() }

            /// Waits for the next notification and returns it; nil once the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await notifications.next(isolation: actor)
            }
        }

        public func makeAsyncIterator() -> Iterator { Iterator(stream.makeAsyncIterator()) }
    }
}

/// An observer to remove from its notification centre. Unchecked: the centre's methods can be called from any thread,
/// and the observer is only passed back to the centre.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol

    func end() { center.removeObserver(observer) }
}

extension NSKeyedUnarchiver {
    /// Decodes an array of objects of one class; nil if the root object of the archive is not such an array.
    @_disfavoredOverload
    public static func unarchivedArrayOfObjects<Object: NSObject & NSCoding>(
        ofClass type: Object.Type, from data: Data
    ) throws -> [Object]? {
        try unarchivedObject(ofClasses: [NSArray.self, type], from: data) as? [Object]
    }
}
