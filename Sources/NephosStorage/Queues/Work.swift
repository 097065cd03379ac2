/// A body that is handed to a thread of an engine, and the task that waits for the answer.
///
/// The thread calls `run` once. It calls `answer` once, when the answer may be given.
protocol Work<Access>: AnyObject {
    associatedtype Access
    /// The times of the request that the body belongs to; nil without measurement.
    var times: RequestTimes? { get }
    /// The owner of the database that the body writes; nil if it reads, or writes several.
    var owner: OwnerID? { get }
    /// Runs the body and keeps its result. Returns the error that the body throws; nil if it throws none.
    func run(_ access: Access) -> (any Error)?
    /// Resumes the waiting task with the result, or with `failure` as a thrown error.
    func answer(failure: (any Error)?)
}

final class Request<Access, Value: Sendable>: Work {
    private let body: @Sendable (Access) throws -> Value
    // Unsafe: a checked continuation costs every request an allocated object and a name, only to check that `Work`
    // keeps its contract.
    private let continuation: UnsafeContinuation<Value, any Error>
    private var value: Value?
    let times = RequestTimes.current
    let owner: OwnerID?

    init(
        owner: OwnerID? = nil, _ body: @escaping @Sendable (Access) throws -> Value,
        _ continuation: UnsafeContinuation<Value, any Error>
    ) {
        self.owner = owner
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
