/// The reason why a server cannot listen for connections.
package enum ListeningError: Error, Hashable, Sendable, CustomStringConvertible {
    case portInUse(UInt16)
    case notPermitted(UInt16)
    /// An address or a path that cannot be listened on. The value says why, and what to write instead.
    case unusable(String)
    case system(call: String, message: String)
    /// The process cannot create enough threads. The first value is the number of threads that it can create.
    case tooFewThreads(Int, needed: Int)

    package var description: String {
        switch self {
        case .portInUse(let port): "port \(port) is in use by another program"
        case .notPermitted(let port): "no permission to listen on port \(port)"
        case .unusable(let reason): reason
        case .system(let call, let message): "\(call): \(message)"
        case .tooFewThreads(let count, let needed):
            "the system lets this process have \(count) more threads, and a server needs \(needed)"
        }
    }
}
