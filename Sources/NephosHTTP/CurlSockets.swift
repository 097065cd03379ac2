import CCurl
import Glibc
import NephosThreads

/// libcurl's multi handle with its timer, and with its sockets in an epoll set. Only the transfer thread uses it.
final class CurlSockets {
    static let isCurlReady: Bool = nephos_curl_global_init() == CURLE_OK

    let multi: UnsafeMutableRawPointer
    /// The descriptor of an eventfd. A write to it ends the wait.
    let wake: Int32
    private let epoll: Int32
    /// The time at which libcurl's timer expires; nil if it is not set.
    private var timer: MonotonicTime?

    /// Nil if libcurl or the system lacks resources.
    init?(connectionsPerHost: Int) {
        guard Self.isCurlReady, let multi = curl_multi_init() else { return nil }
        let epoll = nephos_epoll_create()
        let wake = nephos_eventfd()
        guard epoll >= 0, wake >= 0, nephos_epoll_watch(epoll, wake, CURL_POLL_IN) == 0 else {
            if epoll >= 0 { close(epoll) }
            if wake >= 0 { close(wake) }
            curl_multi_cleanup(multi)
            return nil
        }
        (self.multi, self.epoll, self.wake) = (multi, epoll, wake)
        _ = nephos_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost)
        // By default the limit of kept connections depends on the number of requests, and a falling number closes
        // connections.
        _ = nephos_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(64, connectionsPerHost))
        setCallbacks()
    }

    deinit {
        curl_multi_cleanup(multi)
        close(epoll)
        close(wake)
    }

    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = nephos_curl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context)
        _ = nephos_curl_multi_set_socket_callback(multi) { _, socket, what, context, _ in
            guard let context else { return -1 }
            let sockets = Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
            let failed = nephos_epoll_watch(sockets.epoll, socket, what) != 0
            // A closed socket has already left the epoll set, so its removal may fail.
            return failed && what != CURL_POLL_REMOVE ? -1 : 0
        }
        _ = nephos_curl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context)
        _ = nephos_curl_multi_set_timer_callback(multi) { _, milliseconds, context in
            guard let context else { return -1 }
            let sockets = Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue()
            sockets.timer = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
            return 0
        }
    }

    /// Runs the action of libcurl's timer. An added request begins with it.
    func actOnTimer() {
        guard let timer, timer <= .now else { return }
        self.timer = nil
        var running: Int32 = 0
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
    }

    /// Waits for sockets, the timer, `deadline` or a wake-up, and lets libcurl work on the sockets that are ready.
    func wait(until deadline: MonotonicTime?) {
        let end = [timer, deadline].compactMap { $0 }.min()
        withUnsafeTemporaryAllocation(of: nephos_ready_socket.self, capacity: Int(NEPHOS_READY_SOCKETS)) { ready in
            guard let base = ready.baseAddress else { return }
            let count = nephos_epoll_wait(epoll, base, end?.waitMilliseconds ?? -1)
            for socket in ready.prefix(Int(max(count, 0))) {
                if socket.descriptor == wake {
                    var value: UInt64 = 0
                    _ = read(wake, &value, MemoryLayout<UInt64>.size)
                } else {
                    var running: Int32 = 0
                    curl_multi_socket_action(multi, socket.descriptor, socket.events, &running)
                }
            }
        }
    }
}

extension MonotonicTime {
    /// The milliseconds until this time, rounded up: 0 for a time in the past, and at most one minute.
    fileprivate var waitMilliseconds: Int32 {
        let rest = max(self - MonotonicTime.now, 0)
        return Int32(clamping: min(rest / 1_000_000 + (rest % 1_000_000 == 0 ? 0 : 1), 60_000))
    }
}
