import Foundation

// Adapters for all conveniences. They pass the results of an operation to handlers and async functions.

extension CKDatabase {
    /// Waits for the operation that `start` starts. Cancelling the task cancels the operation.
    func resultOfOperation<Value: Sendable>(
        _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> CKOperation
    ) async throws -> Value {
        try await CloudKit.resultOfOperation(start)
    }
}

extension CKContainer {
    /// Waits for the operation that `start` starts. Cancelling the task cancels the operation.
    func resultOfOperation<Value: Sendable>(
        _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> CKOperation
    ) async throws -> Value {
        try await CloudKit.resultOfOperation(start)
    }
}

private func resultOfOperation<Value: Sendable>(
    _ start: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> CKOperation
) async throws -> Value {
    // An operation that has started could finish before the cancellation reaches it.
    if Task.isCancelled { throw CKError.cancelled(nil) }
    let running = Locked<CKOperation?>(nil)
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            let operation = start { continuation.resume(with: $0) }
            running.exchange(operation)
            if Task.isCancelled { operation.cancel() }
        }
    } onCancel: {
        running.withLock { $0 }?.cancel()
    }
}

/// Awaits the result that a method passes to its completion handler.
///
/// Every async method calls its completion-handler form, as in Apple's framework. So a subclass that overrides the
/// latter changes both.
func resultOfHandler<Value: Sendable>(
    _ start: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        start { value, error in
            if let value {
                continuation.resume(returning: value)
            } else {
                continuation.resume(throwing: error ?? CKError(.internalError, "Neither a result nor an error came."))
            }
        }
    }
}

/// Awaits the result that a method passes to its completion handler. Neither a value nor an error means success.
func optionalResultOfHandler<Value: Sendable>(
    _ start: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value? {
    try await withCheckedThrowingContinuation { continuation in
        start { value, error in
            if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: value) }
        }
    }
}

/// Calls a handler with the value or the error of a result.
func hand<Value>(_ result: Result<Value, any Error>, to handler: (Value?, (any Error)?) -> Void) {
    switch result {
    case .success(let value): handler(value, nil)
    case .failure(let error): handler(nil, error)
    }
}

extension Result where Failure == any Error {
    /// Returns the result of the item that `pick` finds, or the failure of the whole request.
    func item<Item>(_ pick: (Success) -> Result<Item, any Error>?) -> Result<Item, any Error> {
        flatMap { pick($0) ?? .failure(CKError(.internalError, "The service left an item out.")) }
    }

    /// Returns the result of one item, or the failure of the whole request.
    func item<ID: Hashable, Item>(_ id: ID) -> Result<Item, any Error> where Success == [ID: Result<Item, any Error>] {
        item { $0[id] }
    }
}

extension Result where Success == Void, Failure == any Error {
    /// The same result with the failures of single items removed: it is a success if only single items failed, because
    /// each item has a result of its own.
    var asideFromItems: Self {
        if case .failure(let error as CKError) = self, error.code == .partialFailure { return .success(()) }
        return self
    }
}

extension Dictionary {
    /// Returns the value of one item.
    func item<Item>(_ id: Key) throws -> Item where Value == Result<Item, any Error> {
        guard let result = self[id] else { throw CKError(.internalError, "The service left an item out.") }
        return try result.get()
    }
}
