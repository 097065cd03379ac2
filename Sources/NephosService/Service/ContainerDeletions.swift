import Synchronization

/// The deletions of containers on this server.
final class ContainerDeletions: Sendable {
    let loop = WorkLoop()
    /// The containers whose deletion this server began.
    let own = Mutex<Set<String>>([])
    /// The time of the next attempt after a failure, in milliseconds since 1970.
    let nextAttempt = Mutex(Int64.min)
}
