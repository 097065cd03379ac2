import Glibc

/// The signals that stop the process in an orderly way. Every thread blocks them, and one thread waits for them.
struct StopSignals {
    private let set: sigset_t

    init() {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        self.set = set
    }

    /// Waits for a signal that stops the process.
    /// - Parameter reload: called for each SIGHUP, which then does not stop the process; nil to have it stop.
    func wait(reload: (() -> Void)? = nil) {
        var set = set
        var signal: Int32 = 0
        repeat {
            sigwait(&set, &signal)
            if signal == SIGHUP { reload?() }
        } while signal == SIGHUP && reload != nil
    }

    /// Waits for a signal and returns its number; nil on time-out.
    func wait(seconds: Int) -> Int32? {
        // A certificate's renewal sends SIGHUP, which is too late for a stopping process and no reason to end at once.
        var set = set
        sigdelset(&set, SIGHUP)
        let end = time(nil) + seconds
        while true {
            var left = timespec(tv_sec: max(0, end - time(nil)), tv_nsec: 0)
            let signal = sigtimedwait(&set, nil, &left)
            if signal > 0 { return signal }
            if errno != EINTR { return nil }
        }
    }
}
