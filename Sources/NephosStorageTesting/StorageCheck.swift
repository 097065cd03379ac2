import NephosStorage

/// A property that every storage engine must have.
package struct StorageCheck: Sendable, CustomStringConvertible {
    /// The property, as a sentence.
    package let description: String
    private let body: @Sendable (StorageUnderTest) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (StorageUnderTest) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Returns a check that needs one open engine.
    static func engine(
        _ description: String, _ body: @escaping @Sendable (any StorageEngine) async throws -> Void
    ) -> StorageCheck {
        StorageCheck(description) { store in try await store.run { try await body($0) } }
    }

    /// Runs the check on a new store.
    /// - Throws: `CheckFailure` if the property does not hold, or any error of the engine.
    package func run(_ store: StorageUnderTest) async throws {
        try await body(store)
    }
}

/// All checks of the storage contract. An engine is accepted if it passes all of them.
package enum StorageConformance {
    package static let checks: [StorageCheck] =
        accounts + zones + records + changes + purges + references + schema + jobs + indexes + subscriptions
        + assets + shares + requestKeys + installation
        + transactions + isolation
        + concurrency + longest + lifecycle
}

/// The property that does not hold, and the position in the suite that checks it.
package struct CheckFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ message: String, file: String, line: Int) {
        description = "\(file):\(line): \(message)"
    }
}

/// Fails the check unless the two values are equal.
func expect<T: Equatable>(
    _ actual: T, equals expected: T, _ what: String = "", file: String = #fileID, line: Int = #line
) throws {
    guard actual == expected else {
        throw CheckFailure("\(what) expected \(expected), got \(actual)", file: file, line: line)
    }
}

/// Fails the check unless the condition holds.
func expect(_ condition: Bool, _ what: String, file: String = #fileID, line: Int = #line) throws {
    guard condition else { throw CheckFailure("expected that \(what)", file: file, line: line) }
}

/// Fails the check unless `body` throws a `StorageError` with this code.
func expect(
    _ code: StorageError.Code, _ what: String, file: String = #fileID, line: Int = #line,
    from body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let error as StorageError {
        guard error.code == code else {
            throw CheckFailure("\(what): expected \(code), got \(error)", file: file, line: line)
        }
        guard !error.message.isEmpty else { throw CheckFailure("\(what): no message", file: file, line: line) }
        return
    }
    throw CheckFailure("\(what): expected \(code), but it succeeded", file: file, line: line)
}

/// Returns the value; fails the check if the value is nil.
func unwrap<T>(_ value: T?, _ what: String, file: String = #fileID, line: Int = #line) throws -> T {
    guard let value else { throw CheckFailure("expected \(what), got nil", file: file, line: line) }
    return value
}
