import NephosCrypto
import Synchronization

/// The deletions of containers on this server.
final class ContainerDeletions: Sendable {
    let loop = WorkLoop()
    /// The name under which this server claims deletions.
    let worker = SecretToken.randomName()
    /// The time of the next attempt after a failure, in milliseconds since 1970.
    let nextAttempt = Mutex(Int64.min)
}
