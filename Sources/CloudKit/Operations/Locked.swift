import Foundation

/// A value that several threads share. A lock guards every access.
@dynamicMemberLookup
final class Locked<Value>: @unchecked Sendable {
    // Unchecked, because the compiler cannot see that only code under `lock` accesses `value`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Runs `body` under the lock. `body` must not access this value by another call.
    func withLock<T, E: Error>(_ body: (inout Value) throws(E) -> T) throws(E) -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    subscript<T>(dynamicMember member: WritableKeyPath<Value, T>) -> T {
        get { withLock { $0[keyPath: member] } }
        set {
            // The old value is released outside the lock, because it may be a block whose captures run arbitrary code
            // on deinit.
            let old = withLock { value in
                let old = value[keyPath: member]
                value[keyPath: member] = newValue
                return old
            }
            _ = old
        }
    }

    /// Replaces the value and returns the old one.
    @discardableResult
    func exchange(_ newValue: Value) -> Value {
        withLock { value in
            let old = value
            value = newValue
            return old
        }
    }
}
