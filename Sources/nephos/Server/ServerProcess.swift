import Glibc
import NephosHTTP
import NephosServer
import NephosService
import NephosStorage
import Synchronization

/// The life of a process that serves: it runs until a signal, and stops in an orderly way.
struct ServerProcess {
    /// The maximum time in seconds that the process takes to stop.
    private static let stopSeconds = 4

    /// Whether the one server of the process has answered requests.
    private static let hasServed = Atomic(false)

    static func noteServing() { hasServed.store(true, ordering: .relaxed) }

    let log: DevLog
    /// The option that names the port.
    var portOption = "--port N"
    /// The additional time in seconds, in which a stopping server still answers.
    var drain = 0

    /// Runs `serve` until a signal ends the process.
    /// - Parameters:
    ///   - reload: called for each SIGHUP; nil to have it stop the process.
    ///   - serve: serves until the stream has an element. The function returns whether the process was asked to stop,
    ///     while `serve` waits for its database.
    func run(
        reload: (@Sendable () -> Void)? = nil,
        _ serve: @escaping @Sendable (AsyncStream<Void>, @escaping @Sendable () -> Bool) async throws -> Void
    ) -> Never {
        // This runs before any thread starts. Threads inherit the signal mask, so only the waiting thread receives
        // these signals.
        let signals = StopSignals()
        do throws(ListeningError) {
            try ThreadRoom.check()
        } catch {
            Console.fail(
                "\(error). Raise the limit: of processes (ulimit -u), TasksMax= of a service, pids.max of a container.")
        }
        OpenFiles.raiseLimit()
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        let isStopping = IsStopping()
        Task {
            do {
                try await serve(stops) { isStopping.value.load(ordering: .relaxed) }
                exit(0)
            } catch {
                fail(error)
            }
        }
        let manager = ServiceManager.current
        signals.wait(
            reload: reload.map { reload in { if let manager { manager.reloading(reload) } else { reload() } } })
        manager?.noteStopping()
        isStopping.value.store(true, ordering: .relaxed)
        stop.yield()
        // A second signal stops the process without waiting for accepted requests. The wait is bounded anyway. A write
        // that is not committed by then was not acknowledged, and the store is as if it had never begun.
        if let signal = signals.wait(seconds: Self.stopSeconds + drain) { exit(128 + signal) }
        log.note(
            Self.hasServed.load(ordering: .relaxed)
                ? "stopped while requests were under way; none of them was acknowledged" : "stopped before it served")
        _exit(0)
    }

    private final class IsStopping: Sendable {
        let value = Atomic(false)
    }

    private func fail(_ error: any Error) -> Never {
        switch error {
        case let error as ListeningError:
            Console.fail(["\(error)", remedy(of: error)].compactMap(\.self).joined(separator: ". "))
        case let error as StorageError: Console.fail(error.message)
        case is CancellationError: exit(0)
        default: Console.fail("\(error)")
        }
    }

    /// - Returns: nil if the error says what to do.
    private func remedy(of error: ListeningError) -> String? {
        switch error {
        case .unusable: nil
        case .portInUse, .notPermitted: "Stop what uses it, or choose another port: \(portOption)."
        case .system, .tooFewThreads: "The process's limits, of threads, files or memory, may be too low."
        }
    }
}

/// A service with its HTTP server, until the stream has an element.
struct ServedService {
    let service: NephosService
    let responder: Responder
    let log: DevLog
    /// The clients of deliveries, which are closed before the service.
    let clients: [HTTPClient]
    var credentials: TLSCredentials?
    var proxies = TrustedProxies.none
    var takesAccessToken = false
    /// Whether callers are checked before long bodies are read.
    var admitsBodies = false
    /// The bound socket of the metrics' listener; nil for none.
    var metrics: ListeningSocket?
    /// The time in milliseconds for which a stopping server is not ready and answers still, so that load balancers notice.
    var drain: Int64 = 0

    /// Serves until it is told to stop, then drains and stops.
    /// - Parameters:
    ///   - sockets: the bound sockets, which this method owns.
    ///   - upkeep: background work, cancelled when the server stops.
    ///   - finish: called after the last answer, while the stores are open.
    ///   - ready: called with the port of the first socket, once requests are answered.
    func serve(
        _ sockets: [ListeningSocket], until stops: AsyncStream<Void>, upkeep: [@Sendable () async -> Void] = [],
        finish: () async -> Void = {}, _ ready: (HTTPServer) -> Void
    ) async throws {
        let server = try HTTPServer(
            sockets, credentials: credentials, options: options, log: { [log] in log.note("http: \($0)") }
        ) {
            [responder] in
            await responder.respond(to: $0)
        }
        let metricsServer = try startMetrics()
        ServerProcess.noteServing()
        ready(server)
        ServiceManager.current?.noteReady()
        await service.resume()
        let all =
            upkeep + [{ [service] in await service.forgetOldDeletions() }, { [service] in await service.takeUpWork() }]
        let tasks = all.map { work in Task { await work() } }
        for await _ in stops { break }
        if drain > 0 {
            service.stopsBeingReady()
            try? await Task.sleep(for: .milliseconds(drain))
        }
        for task in tasks { task.cancel() }
        service.endPolls()
        await server.stop()
        await metricsServer?.stop()
        await finish()
        // The stop does not wait for deliveries in progress. They fail now and are retried after the next start.
        for client in clients { client.close() }
        await service.close()
        log.writer.flush()
    }

    private var options: HTTPServer.Options {
        var options = HTTPServer.Options()
        options.connectionLimit = OpenFiles.connections
        options.unfinished = Responder.unfinished
        options.account = { [responder] in responder.account($0) }
        options.proxies = proxies
        if admitsBodies { options.admission = { [responder] in await responder.admission($0) } }
        options.takesAccessToken = takesAccessToken
        options.busy = { [responder] in responder.busy($0) }
        return options
    }

    /// Serves the metrics, until the last request is answered.
    private func startMetrics() throws(ListeningError) -> HTTPServer? {
        guard let metrics else { return nil }
        let listener = MetricsListener(responder)
        return try HTTPServer([metrics], options: MetricsListener.options, log: { [log] in log.note("metrics: \($0)") })
        {
            await listener.respond(to: $0)
        }
    }
}
