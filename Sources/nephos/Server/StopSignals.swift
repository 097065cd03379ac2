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
        var set = set
        var time = timespec(tv_sec: seconds, tv_nsec: 0)
        let signal = sigtimedwait(&set, nil, &time)
        return signal > 0 ? signal : nil
    }
}
