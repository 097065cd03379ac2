import FoundationEssentials
import Glibc
package import NephosCrypto
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
    /// Returns at a time of the clock `now`; throws if the task is cancelled. A time and not a duration, so that a clock
    /// that advances between the calculation and the call does not prolong the wait.
    package var sleepUntil: @Sendable (Int64) async throws -> Void
    /// The parameters of the hashes of passwords. Tests, which sign in thousands of times, lower them.
    package var passwordCost = PasswordHash.Cost.interactive

    package init(
        now: @escaping @Sendable () -> Int64, makeUUID: @escaping @Sendable () -> String,
        log: @escaping @Sendable (String) -> Void,
        makeSecret: @escaping @Sendable () -> [UInt8] = { RandomBytes.make(AuthenticationKey.size) },
        sleepUntil: (@Sendable (Int64) async throws -> Void)? = nil
    ) {
        self.now = now
        self.makeUUID = makeUUID
        self.makeSecret = makeSecret
        self.log = log
        self.sleepUntil = sleepUntil ?? { try await Task.sleep(for: .milliseconds(max(0, $0 - now()))) }
    }

    /// Returns after the duration; throws if the task is cancelled.
    func sleep(milliseconds: Int64) async throws { try await sleepUntil(now() + milliseconds) }

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
        environment.sleepUntil = { [sleepUntil] in try await sleepUntil($0 - engine.clockOffset) }
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
