import Foundation

/// A value that several threads share: every access is under its lock.
@dynamicMemberLookup
final class Locked<Value>: @unchecked Sendable {
    // Unchecked, because the compiler cannot see that `value` is only touched under `lock`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Runs `body` under the lock; `body` must not come back to this value.
    func withLock<T, E: Error>(_ body: (inout Value) throws(E) -> T) throws(E) -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    subscript<T>(dynamicMember member: WritableKeyPath<Value, T>) -> T {
        get { withLock { $0[keyPath: member] } }
        set {
            // The old value goes after the lock is open: it may be a block whose captures do anything when they go.
            let old = withLock { value in
                let old = value[keyPath: member]
                value[keyPath: member] = newValue
                return old
            }
            _ = old
        }
    }

    /// Puts `newValue` in and hands out what was there.
    @discardableResult
    func exchange(_ newValue: Value) -> Value {
        withLock { value in
            let old = value
            value = newValue
            return old
        }
    }
}
