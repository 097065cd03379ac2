/// A body handed to an engine's thread, and the task that waits for its answer.
///
/// The thread calls `run` once, and then `answer` once, when the answer may be given.
protocol Work<Access>: AnyObject {
    associatedtype Access
    /// The times of the body's request; nil without measurement.
    var times: RequestTimes? { get }
    /// Runs the body and keeps its result; returns the thrown error.
    func run(_ access: Access) -> (any Error)?
    /// Resumes the task: with the result, or by throwing `failure`.
    func answer(failure: (any Error)?)
}

final class Request<Access, Value: Sendable>: Work {
    private let body: @Sendable (Access) throws -> Value
    // Unsafe: a checked one costs every request an object and a name, only to check the promise of `Work`.
    private let continuation: UnsafeContinuation<Value, any Error>
    private var value: Value?
    let times = RequestTimes.current

    init(
        _ body: @escaping @Sendable (Access) throws -> Value, _ continuation: UnsafeContinuation<Value, any Error>
    ) {
        self.body = body
        self.continuation = continuation
        times?.enter(.queue)
    }

    func run(_ access: Access) -> (any Error)? {
        do {
            value = try body(access)
            return nil
        } catch {
            return error
        }
    }

    func answer(failure: (any Error)?) {
        times?.enter(.service)
        if let failure {
            continuation.resume(throwing: failure)
        } else if let value {
            continuation.resume(returning: value)
        } else {
            continuation.resume(throwing: StorageError(.other, "The work was answered before it ran."))
        }
    }
}

extension StorageError {
    static let closed = StorageError(.closed, "the store is closed")

    static func tooLong(_ nanoseconds: Int64) -> StorageError {
        StorageError(.tooLong, "a read took longer than \(nanoseconds / 1_000_000) ms")
    }
}
