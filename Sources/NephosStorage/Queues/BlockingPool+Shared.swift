import Glibc
package import NephosThreads

/// The process's thread pools, shared by all stores.
extension BlockingPool {
    private static let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Reads: more threads than one store has connections, so that stores do not block each other.
    package static let reads = BlockingPool("reads", Options(threads: max(8, 2 * processors)))
    /// Long reads: so few threads that one processor, and connections, stay free for everything else.
    package static let longReads = BlockingPool(
        "long reads", Options(threads: min(max(1, processors - 1), 2), hasLowPriority: true))
    /// Files on this machine: a disk does not profit from more threads.
    package static let disk = BlockingPool("disk", Options(threads: 4))
    /// Files on the network: threads that mostly wait.
    package static let network = BlockingPool("network", Options(threads: 32))
}
