import Glibc
package import NephosThreads

/// The thread pools of the process, which all stores share.
extension BlockingPool {
    private static let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The threads for reads. They outnumber the connections of one store, so that stores do not block each other.
    package static let reads = BlockingPool("reads", Options(threads: max(8, 2 * processors)))
    /// The threads for long reads. They are few, so that one processor and some connections stay free for all other
    /// work.
    package static let longReads = BlockingPool(
        "long reads", Options(threads: min(max(1, processors - 1), 2), hasLowPriority: true))
    /// The threads for files on this machine. More threads do not make a disk faster.
    package static let disk = BlockingPool("disk", Options(threads: 4))
    /// The threads for files on the network, which mostly wait for it.
    package static let network = BlockingPool("network", Options(threads: 32))
}
