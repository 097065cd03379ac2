import Synchronization

/// The decision about a request whose body is long, or of unknown length, before the body is read.
package enum Admission: Sendable {
    /// The body is read.
    /// - Parameter limit: its maximum size in bytes. The handler refuses a longer one, which it does not get.
    case body(limit: Int)
    case refused(HTTPResponse)
}

/// A decision that is under way, of which the connection's thread learns when its run has an answer.
final class PendingAdmission: Sendable {
    private let limit = Mutex<Int?>(nil)

    func admit(bodyLimit: Int) { limit.withLock { $0 = bodyLimit } }

    /// The maximum size of the admitted body in bytes; nil if the request is refused.
    var bodyLimit: Int? { limit.withLock(\.self) }
}
