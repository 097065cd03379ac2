import Dispatch
import Glibc

/// Runs `body`, which blocks, on a thread of its own.
///
/// Dispatch's queues will not do: the cooperative pool's threads are theirs, so enough blocked queues would keep the
/// tasks from running that the blocked ones wait for.
///
/// Where the system has no thread left `body` runs on Dispatch's, which is better than not at all.
func onOwnThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        let work: @Sendable () -> Void = {
            body()
            continuation.resume()
        }
        do throws(ListeningError) {
            try onNewThread(work)
        } catch {
            DispatchQueue.global().async(execute: work)
        }
    }
}

/// Starts a thread that ends when `body` returns.
/// - Throws: `ListeningError` `.system` where the system has no thread left.
func onNewThread(_ body: @escaping @Sendable () -> Void) throws(ListeningError) {
    let work = Unmanaged.passRetained(ThreadWork(body))
    var thread = pthread_t()
    let failure = pthread_create(&thread, nil, runThreadWork, work.toOpaque())
    guard failure == 0 else {
        work.release()
        throw .system(call: "pthread_create", message: String(cString: strerror(failure)))
    }
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
