import Glibc

/// A check that the system can create the threads that a server needs. Swift creates the threads of its tasks on
/// demand. If it cannot create one, no task runs and no error is reported. So a server first tries to create the
/// threads.
package enum ThreadRoom {
    /// The number of threads that a server with one busy store needs: for connections, for tasks (about as many), for
    /// reads, for the writer and the checkpointer of the store, for files, and for its HTTP client.
    package static var needed: Int { 2 * Int(HTTPServer.Options().threads) + 20 }

    /// - Throws: `ListeningError` `.tooFewThreads` if the system cannot create as many threads.
    package static func check(_ needed: Int = needed) throws(ListeningError) {
        var made: [pthread_t] = []
        made.reserveCapacity(needed)
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        defer { pthread_mutex_destroy(gate) }
        // Each thread blocks until all threads are created.
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
