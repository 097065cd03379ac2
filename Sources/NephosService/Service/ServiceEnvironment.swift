import FoundationEssentials
import Glibc
import NephosCrypto
import NephosStorage

/// What the service takes from the outside: the clock, identifiers, the log. A test replaces them, so that a whole
/// cloud can run in virtual time from a seed.
package struct ServiceEnvironment: Sendable {
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// A new UUID in upper case.
    package var makeUUID: @Sendable () -> String
    /// Bytes for a store's secret: as many as an `AuthenticationKey` has, at random.
    package var makeSecret: @Sendable () -> [UInt8]
    /// Where faults go that a client must not see.
    package var log: @Sendable (String) -> Void
    /// Returns after a time by the same clock as `now`, or throws when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Int64, makeUUID: @escaping @Sendable () -> String,
        log: @escaping @Sendable (String) -> Void,
        makeSecret: @escaping @Sendable () -> [UInt8] = { RandomBytes.make(AuthenticationKey.size) },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.now = now
        self.makeUUID = makeUUID
        self.makeSecret = makeSecret
        self.log = log
        self.sleep = sleep
    }

    /// The system's clock and randomness; the log goes to standard error.
    package static let system = ServiceEnvironment(
        now: { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) },
        makeUUID: { UUID().uuidString },
        log: { message in
            // One system call a line, so that lines of several threads do not mix.
            var line = "nephos: \(message)\n"
            line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        })

    /// The same with a clock that agrees with those of the other processes that write a store.
    func following(_ engine: any StorageEngine) -> ServiceEnvironment {
        guard engine.isShared else { return self }
        var environment = self
        environment.now = { [now] in now() + engine.clockOffset }
        return environment
    }

    /// The same with a log whose lines name the store that they are about.
    func naming(_ id: StoreID) -> ServiceEnvironment {
        var environment = self
        environment.log = { [log] in log("\(id.container), \(id.environment): \($0)") }
        return environment
    }

    /// A user record's name: `_` and 32 hexadecimal digits.
    func makeUserRecordName() -> String {
        "_" + makeUUID().filter { $0 != "-" }.lowercased()
    }
}
