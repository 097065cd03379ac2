package import NephosStorage

/// A store of the engine under test, and what the engine can do with it. Each check gets one of its own.
package struct StorageUnderTest: Sendable {
    /// Opens the store: empty at first, then, once the last engine was closed, with what was committed to it.
    package var open: @Sendable () throws -> any StorageEngine
    /// Whether the store outlives its engine. A store in memory does not.
    package var keepsData: Bool
    /// Whether a read can run while a write does. With one connection it cannot.
    package var readsDuringWrites: Bool
    /// Damages the closed store, so that it cannot be read; nil where there is nothing to damage.
    package var damage: (@Sendable () throws -> Void)?

    package init(
        keepsData: Bool, readsDuringWrites: Bool, damage: (@Sendable () throws -> Void)? = nil,
        open: @escaping @Sendable () throws -> any StorageEngine
    ) {
        self.open = open
        self.keepsData = keepsData
        self.readsDuringWrites = readsDuringWrites
        self.damage = damage
    }

    /// Opens the store, runs `body` and closes it, also if `body` throws.
    func run<T: Sendable>(_ body: (any StorageEngine) async throws -> T) async throws -> T {
        let engine = try open()
        let result: T
        do {
            result = try await body(engine)
        } catch {
            await engine.close()
            throw error
        }
        await engine.close()
        return result
    }
}
