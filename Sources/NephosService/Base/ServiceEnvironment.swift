import FoundationEssentials
import Glibc
import NephosCrypto
import NephosStorage

/// The service's dependencies on the outside: clock, identifiers, log. Tests replace the dependencies, so that a whole
/// cloud runs in virtual time from a seed.
package struct ServiceEnvironment: Sendable {
    /// Returns the present time, in milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// Returns a new upper-case UUID.
    package var makeUUID: @Sendable () -> String
    /// Returns random bytes for a store's secret, as many as an `AuthenticationKey` has.
    package var makeSecret: @Sendable () -> [UInt8]
    /// Logs faults that clients must not see.
    package var log: @Sendable (String) -> Void
    /// Returns after the duration, measured by the same clock as `now`; throws if the task is cancelled.
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

    /// The environment with the system's clock and randomness, and a log on standard error.
    package static let system = ServiceEnvironment(
        now: { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) },
        makeUUID: { UUID().uuidString },
        log: { message in
            // Each line is one system call, so that lines of concurrent threads do not interleave.
            var line = "nephos: \(message)\n"
            line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        })

    /// Returns the environment with a clock that agrees with those of the other processes that write the store.
    func following(_ engine: any StorageEngine) -> ServiceEnvironment {
        guard engine.isShared else { return self }
        var environment = self
        environment.now = { [now] in now() + engine.clockOffset }
        return environment
    }

    /// Returns the environment with a log whose lines name the store.
    func naming(_ id: StoreID) -> ServiceEnvironment {
        var environment = self
        environment.log = { [log] in log("\(id.container), \(id.environment): \($0)") }
        return environment
    }

    /// Returns a new user record's name: `_` and 32 hexadecimal digits.
    func makeUserRecordName() -> String {
        "_" + makeUUID().filter { $0 != "-" }.lowercased()
    }
}
