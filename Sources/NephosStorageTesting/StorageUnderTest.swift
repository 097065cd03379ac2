package import NephosStorage

/// A store of the engine under test, with the engine's capabilities. Each check gets its own store.
package struct StorageUnderTest: Sendable {
    /// Opens the store. It is empty at first. After an engine is closed, the next one finds the committed content.
    package var open: @Sendable () throws -> any StorageEngine
    /// Whether the store outlives its engine; false for a store in memory.
    package var keepsData: Bool
    /// Whether a read can run during a write; false for an engine with a single connection.
    package var readsDuringWrites: Bool
    /// Damages the closed store so that it cannot be read; nil if the store has no file to damage.
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

    /// Opens the store, runs `body`, and closes the store even if `body` throws.
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
