import Dispatch
import Glibc
import NephosHTTP
import NephosObjectStorage
import NephosPostgres
import NephosPush
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage
import Synchronization

/// The command `nephos dev`, which runs the local CloudKit.
struct DevCommand {
    static let options = [
        CommandOption("--data", "DIR", "Keep the data in DIR. Default: ./.nephos"),
        CommandOption("--in-memory", nil, "Keep the data in memory and lose it at the end."),
        CommandOption(
            "--storage", "ADDRESS",
            """
            Keep the data in PostgreSQL, postgresql://USER@HOST/DATABASE, and only
            the files of assets in --data, which all servers over one database share.
            A password is taken from PGPASSWORD or from PGPASSFILE.
            """),
        CommandOption(
            "--accept-unsafe-storage", nil, "Use a PostgreSQL server also where it may lose what was answered."),
        CommandOption("--port", "N", "Listen on port N; 0 for any free one. Default: 8484"),
        CommandOption(
            "--synchronous", "MODE",
            """
            full: an answered save survives a loss of power. normal: it survives
            everything else, and saves are faster. Default: full
            """),
        CommandOption(
            "--deletion-retention", "TIME",
            """
            How long change feeds remember deletions: a number and s, m, h, d or w,
            or forever. Default: 180d
            """),
        CommandOption("--import", "FILE", "Import the records of an export before anything is served."),
        CommandOption("--import-assets", "DIR", "The files of its assets: the directory of the export's --assets."),
        CommandOption(
            "--require-approval", nil,
            """
            Keep no keys of encrypted values for accounts' devices. By default the
            service keeps them with the data, so that every device has them.
            """),
        CommandOption("--strict", nil, "Refuse also what only Apple's own Web Services refuse."),
        CommandOption(
            "--listen", "ADDRESS",
            """
            127.0.0.1, ::1 or localhost, which all mean the loopback: nephos dev
            accepts everyone who can reach it.
            """),
        CommandOption("--help", nil, "Show this help."),
    ]

    private static let allOptions =
        options + StorageOptions.options + DevLog.options + AssetOptions.options + ObjectStorageArguments.options
        + NotificationOptions.options

    static let help = """
        Run the local CloudKit on this machine, for development and tests.

        Usage: nephos dev [OPTIONS]

        Containers are made by their first write. Any ckAPIToken will do, and
        ckWebAuthToken=dev:NAME signs in as NAME. GET /health says that the server runs,
        GET /ready that writes go through. Stop it with control-C or SIGTERM.

        Options:
        \(CommandOption.help(options + DevLog.options))

        PostgreSQL:
        \(CommandOption.help(StorageOptions.options))

        Assets:
        \(CommandOption.help(AssetOptions.options + ObjectStorageArguments.options))

        \(ObjectStorageArguments.note)

        Notifications:
        \(CommandOption.help(NotificationOptions.options))

        """

    /// The maximum time in seconds that the process takes to stop.
    private static let stopSeconds = 4

    private static let loopbackAddresses = ["127.0.0.1", "::1", "[::1]", "localhost"]

    var data: String? = "./.nephos"
    var port: UInt16 = 8484
    /// The PostgreSQL database that contains the data; nil for a data directory or memory.
    var storage: PostgresAddress?
    var acceptsUnsafeStorage = false
    let storageOptions: StorageOptions
    var durability = SQLiteOptions.Durability.full
    var isStrict = false
    var requiresApproval = false
    var importFile: String?
    var importAssets: String?
    /// The time in milliseconds for which tombstones are kept; nil for ever.
    var deletionRetention: Int64? = Limits.deletionRetention
    var notifications: NotificationOptions
    let log: DevLog
    var assets: AssetOptions
    let objectStorage: ObjectStorageArguments

    /// Runs the server until a signal ends the process.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        try DevCommand(arguments).run()
    }

    init(_ arguments: [String]) throws(UsageError) {
        let arguments = try Arguments(arguments, options: Self.allOptions, command: "dev")
        if let directory = arguments["--data"] { data = directory }
        if arguments.has("--in-memory") {
            guard !arguments.has("--data") else {
                throw UsageError("'--data' and '--in-memory' exclude each other.")
            }
            data = nil
        }
        if let text = arguments["--storage"] {
            if arguments.has("--in-memory") {
                throw UsageError("'--storage' and '--in-memory' exclude each other.")
            }
            storage = try StorageAddress.parse(text, option: "--storage")
        }
        acceptsUnsafeStorage = arguments.has("--accept-unsafe-storage")
        storageOptions = try StorageOptions(arguments)
        if let text = arguments["--port"] {
            guard let port = UInt16(text) else {
                throw UsageError("'\(text)' is not a port: '--port' takes a number from 0 to 65535.")
            }
            self.port = port
        }
        switch arguments["--synchronous"] {
        case nil, "full": durability = .full
        case "normal": durability = .normal
        case let mode?: throw UsageError("'\(mode)' is unknown: '--synchronous' takes full or normal.")
        }
        isStrict = arguments.has("--strict")
        requiresApproval = arguments.has("--require-approval")
        importFile = arguments["--import"]
        importAssets = arguments["--import-assets"]
        if importAssets != nil, importFile == nil { throw UsageError("'--import-assets' belongs to '--import FILE'.") }
        if let text = arguments["--deletion-retention"] {
            deletionRetention =
                text == "forever" ? nil : try DurationArgument.parse(text, option: "--deletion-retention")
        }
        notifications = try NotificationOptions(arguments)
        log = try DevLog(arguments)
        assets = try AssetOptions(arguments)
        objectStorage = try ObjectStorageArguments(arguments)
        if data == nil, objectStorage.objects != nil {
            throw UsageError(
                "'--asset-storage' and '--in-memory' exclude each other: the files would outlive their records.")
        }
        if let address = arguments["--listen"], !Self.loopbackAddresses.contains(address) {
            throw UsageError(
                "nephos dev listens on this machine's loopback only, not on '\(address)': it accepts everyone who can "
                    + "reach it.")
        }
    }

    private func run() -> Never {
        // This runs before any thread starts. Threads inherit the signal mask, so only the waiting thread receives
        // these signals.
        let signals = StopSignals()
        do throws(ListeningError) {
            try ThreadRoom.check()
        } catch {
            Console.fail(
                "\(error). Raise the limit: of processes (ulimit -u), TasksMax= of a service, pids.max of a container.")
        }
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        let isStopping = Atomic(false)
        Task {
            do {
                try await serve(until: stops) { isStopping.load(ordering: .relaxed) }
                exit(0)
            } catch let error as ListeningError {
                Console.fail("\(error). \(Self.remedy(of: error))")
            } catch let error as StorageError {
                Console.fail(error.message)
            } catch {
                Console.fail("\(error)")
            }
        }
        signals.wait()
        isStopping.store(true, ordering: .relaxed)
        stop.yield()
        // A second signal stops the process without waiting for accepted requests. The wait is bounded anyway. A write
        // that is not committed by then was not acknowledged, and the store is as if it had never begun.
        if let signal = signals.wait(seconds: Self.stopSeconds) { exit(128 + signal) }
        log.note("stopped while requests were under way; none of them was acknowledged")
        _exit(0)
    }

    private static func remedy(of error: ListeningError) -> String {
        switch error {
        case .portInUse, .notPermitted: "Stop what uses it, or choose another port with --port N."
        case .system, .tooFewThreads: "The process's limits, of threads, files or memory, may be too low."
        }
    }

    /// - Parameter isStopping: returns whether the process was asked to stop, while it waits for its database.
    private func serve(until stops: AsyncStream<Void>, _ isStopping: @Sendable () -> Bool) async throws {
        // The port is bound first, so that a failure to bind it has no side effects.
        let sockets = try ListeningSocket.loopback(port: port)
        ProcessMemory.keepForNextAnswer()
        SQLiteLibrary.dedicate()
        var environment = ServiceEnvironment.system
        environment.log = { [log] in log.note($0) }
        let stores = try await stores(environment.log, isStopping)
        try await check(stores)
        let delivery = notifications.delivery(now: environment.now)
        var configuration = ServiceConfiguration(
            isStrict: isStrict, deletionRetention: deletionRetention, notifications: delivery.outlets)
        configuration.escrowsKeys = !requiresApproval
        assets.apply(to: &configuration)
        let service = NephosService(stores: stores, environment: environment, configuration: configuration)
        let responder = Responder(service, log: self.log.observer())
        if let importFile {
            try await Self.load(importFile, importAssets, Cloud.Local(responder: responder, service: service))
        }
        var options = HTTPServer.Options()
        options.connectionLimit = OpenFiles.makeRoomForConnections()
        options.unfinished = Responder.unfinished
        options.account = { Responder.account($0) }
        options.busy = { Responder.busy($0) }
        let server = try HTTPServer(sockets, options: options, log: { [log] in log.note("http: \($0)") }) {
            await responder.respond(to: $0)
        }
        Console.print("nephos: serving http://127.0.0.1:\(server.port) (development)\n")
        if let banner = self.log.banner(
            port: server.port, data: data, inPostgreSQL: storage != nil, keepsKeys: !requiresApproval)
        {
            Console.style(banner + "\n")
        }
        await service.resume()
        let upkeep = [Task { await service.forgetOldDeletions() }, Task { await service.takeUpWork() }]
        for await _ in stops { break }
        for task in upkeep { task.cancel() }
        service.endPolls()
        await server.stop()
        // The stop does not wait for deliveries in progress. They fail now and are retried after the next start.
        for client in delivery.clients { client.close() }
        await service.close()
        self.log.writer.flush()
    }

    /// Imports a file on a thread of its own, because an import blocks during each of its requests.
    private static func load(_ path: String, _ assets: String?, _ local: Cloud.Local) async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "import").async {
                continuation.resume(
                    with: Result { try ImportCommand.run(path, assets: assets) { try Cloud($0, servedBy: local) } })
            }
        }
    }

    /// Opens every store once, so that damaged or newer stores are reported at the start. The other stores are served,
    /// and requests for the reported ones are refused.
    /// - Throws: the error of the store if there is only one.
    private func check(_ stores: any StoreProvider) async throws {
        // The stores of one database have the same tables, which were looked at.
        if storage != nil { return }
        let all = try stores.existingStores()
        for id in all {
            do {
                try await stores.open(id).close()
            } catch {
                let reason = (error as? StorageError)?.message ?? "\(error)"
                guard all.count > 1 else {
                    throw StorageError(.damaged, "The store of \(id.text) cannot be opened: \(reason)")
                }
                log.note("the store of \(id.text) cannot be opened, and its requests are refused: \(reason)")
            }
        }
    }

    /// Connects to the database. Retries every second while the database cannot be reached.
    private func postgres(
        _ address: PostgresAddress, _ options: PostgresOptions, blanks: MemoryStores, _ isStopping: @Sendable () -> Bool
    ) async throws -> PostgresStores {
        var reason = ""
        while true {
            do {
                return try PostgresStores(address, options: options, assets: data, blanks: blanks)
            } catch let error as StorageError where error.code == .inputOutput {
                if isStopping() { exit(0) }
                if error.message != reason { log.note("waiting for the database: \(error.message)") }
                reason = error.message
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func stores(
        _ log: @escaping @Sendable (String) -> Void, _ isStopping: @Sendable () -> Bool
    ) async throws -> any StoreProvider {
        let options = SQLiteOptions(durability: durability, log: log)
        guard let data else { return MemoryStores(options: options) }
        let stores: any StoreProvider
        if let storage {
            let postgres = try await postgres(
                storage, storageOptions.postgres(acceptsUnsafeServer: acceptsUnsafeStorage, options.log),
                blanks: MemoryStores(options: options), isStopping)
            try postgres.keepAssets(in: objectStorage.place(or: data))
            stores = postgres
        } else {
            stores = try DataDirectory(path: data, options: options)
        }
        guard let objects = try await objectStorage.requests() else { return stores }
        return ObjectStorageProvider(stores, objects, spool: data)
    }
}

/// The signals that stop the process in an orderly way. Every thread blocks them, and one thread waits for them.
private struct StopSignals {
    private let set: sigset_t

    init() {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        self.set = set
    }

    @discardableResult
    func wait() -> Int32 {
        var set = set
        var signal: Int32 = 0
        sigwait(&set, &signal)
        return signal
    }

    /// Waits for a signal and returns its number; nil on time-out.
    func wait(seconds: Int) -> Int32? {
        var set = set
        var time = timespec(tv_sec: seconds, tv_nsec: 0)
        let signal = sigtimedwait(&set, nil, &time)
        return signal > 0 ? signal : nil
    }
}
