import Glibc

/// The threads that a server needs. Swift's tasks run on threads that are made when they are first needed; where none can be
/// made nothing runs, and no error says so. So it is tried out before.
package enum ThreadRoom {
    /// Threads of a server with one busy store: those of its connections, of tasks, which are about as many, of reads, of the
    /// store's writer and checkpointer, of files and of its HTTP client.
    package static var needed: Int { 2 * Int(HTTPServer.Options().threads) + 20 }

    /// - Throws: `ListeningError` `.tooFewThreads` where fewer can be made.
    package static func check(_ needed: Int = needed) throws(ListeningError) {
        var made: [pthread_t] = []
        made.reserveCapacity(needed)
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        defer { pthread_mutex_destroy(gate) }
        // Until all are there, each of them waits.
        pthread_mutex_lock(gate)
        while made.count < needed {
            var thread = pthread_t()
            guard pthread_create(&thread, nil, waitAtGate, gate) == 0 else { break }
            made.append(thread)
        }
        pthread_mutex_unlock(gate)
        for thread in made { pthread_join(thread, nil) }
        if made.count < needed { throw .tooFewThreads(made.count, needed: needed) }
    }
}

private func waitAtGate(_ gate: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self) else { return nil }
    pthread_mutex_lock(gate)
    pthread_mutex_unlock(gate)
    return nil
}
