public import Foundation

// Foundation's part of two things that code around CloudKit does all the time, where this platform's Foundation lacks it.
// Disfavoured, so that Foundation's own win once it has them.

extension NotificationCenter {
    /// The notifications of a name, as they are posted. Observing starts with this call, and ends when the sequence and
    /// its iterators are gone.
    ///
    /// Code written for Apple's platforms waits for `CKAccountChanged` this way.
    @_disfavoredOverload
    public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> AsyncStream<Notification> {
        let (stream, continuation) = AsyncStream.makeStream(of: Notification.self)
        let observer = addObserver(forName: name, object: object, queue: nil) { notification in
            // A value that the sender has posted: nobody changes it any more.
            nonisolated(unsafe) let posted = notification
            continuation.yield(posted)
        }
        let observation = Observation(center: self, observer: observer)
        continuation.onTermination = { _ in observation.end() }
        return stream
    }
}

/// An observer that is to be removed. Unchecked: the centre's methods may be called from any thread, and the observer is
/// only handed back to it.
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
