import Glibc

/// Runs `body`, which blocks, on a thread of its own.
///
/// Dispatch's queues will not do: the cooperative pool's threads are theirs, so enough blocked queues would keep the
/// tasks from running that the blocked ones wait for.
func onOwnThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        onNewThread {
            body()
            continuation.resume()
        }
    }
}

/// Starts a thread that ends when `body` returns.
func onNewThread(_ body: @escaping @Sendable () -> Void) {
    let work = Unmanaged.passRetained(ThreadWork(body))
    var thread = pthread_t()
    let failure = pthread_create(&thread, nil, runThreadWork, work.toOpaque())
    precondition(failure == 0, "no thread to be had: \(String(cString: strerror(failure)))")
    pthread_detach(thread)
}

private final class ThreadWork {
    let body: () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}

private func runThreadWork(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let work { Unmanaged<ThreadWork>.fromOpaque(work).takeRetainedValue().body() }
    return nil
}
