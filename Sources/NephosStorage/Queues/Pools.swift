import Glibc
package import NephosThreads

/// The pools of the process: all stores share them.
extension BlockingPool {
    private static let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Reads: more threads than one store has connections, so that stores do not wait for each other's.
    package static let reads = BlockingPool("reads", Options(threads: max(8, 2 * processors)))
    /// Long reads: so few threads that one processor is left to everything else, and connections are.
    package static let longReads = BlockingPool(
        "long reads", Options(threads: min(max(1, processors - 1), 2), hasLowPriority: true))
    /// Files of this machine: a disk has no use for more threads.
    package static let disk = BlockingPool("disk", Options(threads: 4))
    /// Files elsewhere: threads that mostly wait.
    package static let network = BlockingPool("network", Options(threads: 32))
}
