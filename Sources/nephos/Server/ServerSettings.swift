import NephosObjectStorage
import NephosPostgres
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage

/// The settings that all commands share that run a server: where its data is, and how the service keeps it.
struct ServerSettings {
    static let storageAndTimes = [
        CommandOption(
            "--storage", "ADDRESS",
            """
            Keep the data in PostgreSQL, postgresql://USER@HOST/DATABASE, and only
            the files of assets in --data, which all servers over one database share.
            A password is taken from PGPASSWORD or from PGPASSFILE.
            """),
        CommandOption(
            "--accept-unsafe-storage", nil, "Use a PostgreSQL server also where it may lose what was answered."),
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
        CommandOption(
            "--strict", nil,
            """
            Refuse also what Apple's own service refuses or does not know: more than 200
            operations in a request, and our additions.
            """),
    ]

    /// The options of all parts but the log, for parsing.
    static let options =
        storageAndTimes + StorageOptions.options + AssetOptions.options
        + ObjectStorageArguments.options + NotificationOptions.options

    /// The parts of the help that follow a command's own options.
    static let help = """
        PostgreSQL:
        \(CommandOption.help(StorageOptions.options))

        Assets:
        \(CommandOption.help(AssetOptions.options + ObjectStorageArguments.options))

        \(ObjectStorageArguments.note)

        Notifications:
        \(CommandOption.help(NotificationOptions.options))

        """

    /// The data directory; nil for stores in memory.
    var data: String?
    /// The PostgreSQL database that contains the data; nil for a data directory or memory.
    private(set) var storage: PostgresAddress?
    let acceptsUnsafeStorage: Bool
    let storageOptions: StorageOptions
    private let durability: SQLiteOptions.Durability
    private let isStrict: Bool
    private let isProduction: Bool
    /// The time in milliseconds for which tombstones are kept; nil for ever.
    private var deletionRetention: Int64? = Limits.deletionRetention
    let notifications: NotificationOptions
    let log: DevLog
    private let assets: AssetOptions
    let objectStorage: ObjectStorageArguments

    init(_ arguments: Arguments, data: String?, isProduction: Bool = false) throws(UsageError) {
        self.data = data
        self.isProduction = isProduction
        if let text = arguments["--storage"] { storage = try StorageAddress.parse(text, option: "--storage") }
        acceptsUnsafeStorage = arguments.has("--accept-unsafe-storage")
        storageOptions = try StorageOptions(arguments)
        switch arguments["--synchronous"] {
        case nil, "full": durability = .full
        case "normal": durability = .normal
        case let mode?: throw UsageError("'\(mode)' is unknown: '--synchronous' takes full or normal.")
        }
        isStrict = arguments.has("--strict")
        if let text = arguments["--deletion-retention"] {
            deletionRetention =
                text == "forever" ? nil : try DurationArgument.parse(text, option: "--deletion-retention")
        }
        notifications = try NotificationOptions(arguments)
        log = try DevLog(arguments, isProduction: isProduction)
        assets = try AssetOptions(arguments)
        objectStorage = try ObjectStorageArguments(arguments)
    }

    /// The environment of the service, which logs to the server's log.
    var environment: ServiceEnvironment {
        var environment = ServiceEnvironment.system
        environment.log = { [log] in log.note($0) }
        return environment
    }

    /// The configuration of the service.
    func configuration(_ outlets: NotificationOutlets, escrowsKeys: Bool) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(
            isStrict: isStrict, deletionRetention: deletionRetention, notifications: outlets)
        configuration.escrowsKeys = escrowsKeys
        configuration.refusesAdditions = isStrict
        assets.apply(to: &configuration)
        return configuration
    }

    // MARK: Stores

    /// Opens the place of the stores. Waits for a database that cannot be reached.
    /// - Parameter isStopping: returns whether the process was asked to stop meanwhile.
    func stores(_ isStopping: @Sendable () -> Bool) async throws -> any StoreProvider {
        let options = SQLiteOptions(durability: durability, log: environment.log)
        guard let data else { return MemoryStores(options: options) }
        let stores: any StoreProvider
        if let storage {
            let postgres = try await postgres(
                storage, storageOptions.postgres(acceptsUnsafeServer: acceptsUnsafeStorage, options.log),
                blanks: MemoryStores(options: options), isStopping)
            try postgres.keepAssets(in: objectStorage.place(or: data))
            // Also where the files are in object storage, so that commands without '--storage' refuse the directory. A
            // server needs no mark.
            if FileSystem.isDirectory(data) { try? PostgresStores.keep(directory: data) }
            stores = postgres
        } else {
            try StoresInFiles.check(
                data, remedy: "Give '--storage postgresql://USER@HOST/DATABASE', or another '--data'.")
            try AssetStorageNote(data).check(objectStorage)
            stores = try DataDirectory(path: data, options: options, listsStores: isProduction)
            for id in try StoredDirectory(path: data).missingStores() {
                log.note("the store of \(id.text) is missing: its requests are refused until it is restored")
            }
        }
        guard let objects = try await objectStorage.requests() else { return stores }
        if storage == nil { try AssetStorageNote(data).note(objectStorage) }
        return ObjectStorageProvider(stores, objects, spool: data)
    }

    /// Connects to the database. Retries every second while the database cannot be reached.
    private func postgres(
        _ address: PostgresAddress, _ options: PostgresOptions, blanks: MemoryStores, _ isStopping: @Sendable () -> Bool
    ) async throws -> PostgresStores {
        var reason = ""
        while true {
            do {
                return try StoresInFiles.database(address, options, assets: data, blanks: blanks, for: .server)
            } catch let error as StorageError where error.code == .inputOutput {
                if isStopping() { throw CancellationError() }
                if error.message != reason { log.note("waiting for the database: \(error.message)") }
                reason = error.message
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Opens every store once, so that damaged or newer stores are reported at the start. The other stores are served,
    /// and requests for the reported ones are refused.
    /// - Throws: the error of the store if there is only one.
    func check(_ stores: any StoreProvider, except open: StoreID? = nil) async throws {
        // The stores of one database have the same tables, which were looked at.
        if storage != nil { return }
        let all = try stores.existingStores().filter { $0 != open }
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
}
