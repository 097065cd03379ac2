public import Foundation

// Foundation's part of two things that code around CloudKit does all the time, where this platform's Foundation lacks
// it. The methods are disfavoured, so that Foundation's own win once it has them; `Notifications` has to go then.

extension NotificationCenter {
    /// The notifications of a name, as they are posted. Observing starts with this call, and ends when the sequence and
    /// its iterators are gone.
    ///
    /// Code written for Apple's platforms waits for `CKAccountChanged` this way.
    @_disfavoredOverload
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        Notifications(of: self, named: name, object: object)
    }

    /// What `notifications(named:object:)` gives, under the name that Apple's Foundation has for it.
    public final class Notifications: AsyncSequence, @unchecked Sendable {
        // Unchecked: the stream has its own lock, and Foundation does not mark its element, a notification, Sendable.

        public typealias Element = Notification
        public typealias Failure = Never

        private let stream: AsyncStream<Notification>

        init(of center: NotificationCenter, named name: Notification.Name, object: AnyObject?) {
            let (stream, continuation) = AsyncStream.makeStream(of: Notification.self)
            let observer = center.addObserver(forName: name, object: object, queue: nil) { notification in
                // A value that was posted is not changed any more.
                nonisolated(unsafe) let posted = notification
                continuation.yield(posted)
            }
            let observation = Observation(center: center, observer: observer)
            continuation.onTermination = { _ in observation.end() }
            self.stream = stream
        }

        /// One walk over the notifications.
        public struct Iterator: AsyncIteratorProtocol {
            private var notifications: AsyncStream<Notification>.Iterator

            init(_ notifications: AsyncStream<Notification>.Iterator) { self.notifications = notifications }

            /// The next notification; nil once the task was cancelled.
            public mutating func next() async -> Notification? { await notifications.next() }

            /// The next notification; nil once the task was cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await notifications.next(isolation: actor)
            }
        }

        public func makeAsyncIterator() -> Iterator { Iterator(stream.makeAsyncIterator()) }
    }
}

/// An observer that is to be removed. Unchecked: the centre's methods may be called from any thread, and the observer
/// is only handed back to it.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol

    func end() { center.removeObserver(observer) }
}

extension NSKeyedUnarchiver {
    /// An array of objects of one class from an archive; nil where the archive's root is something else.
    @_disfavoredOverload
    public static func unarchivedArrayOfObjects<Object: NSObject & NSCoding>(
        ofClass type: Object.Type, from data: Data
    ) throws -> [Object]? {
        try unarchivedObject(ofClasses: [NSArray.self, type], from: data) as? [Object]
    }
}
