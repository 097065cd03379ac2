import Glibc
import NephosPasskeys
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage

/// The command `nephos serve`, which runs a production server.
struct ServeCommand {
    static let defaultData = "/var/lib/nephos"

    static let socketOption = CommandOption(
        "--socket", "FILE",
        """
        The socket for administration, where several servers share DIR.
        Default: nephos.sock in DIR
        """)

    static let configOption = CommandOption(
        "--config", "FILE", "Read the settings in FILE. Default: \(ConfigurationFile.defaultPath), if it exists")

    /// The options that are no settings.
    static let ownOptions = [
        configOption,
        CommandOption(
            "--check", nil,
            """
            Check the settings and what they name, and print them, but start nothing
            and change nothing, except for an object of its own in object storage. As
            root the checks run as the user whose DIR is.
            """),
        CommandOption("--help", nil, "Show this help."),
    ]

    /// The settings that no other command has.
    static let settings = [
        CommandOption(
            "--data", "DIR", "Keep the data in DIR, also the socket for administration. Default: \(defaultData)"),
        socketOption,
        CommandOption(
            "--url", "URL",
            """
            The one public address, such as https://cloud.example.org: every address
            that the server gives out starts with it.
            """),
        CommandOption(
            "--listen", "ADDRESS",
            """
            The address and port, such as 0.0.0.0:443 or [::]:443. Default:
            127.0.0.1:8484
            """),
        CommandOption(
            "--metrics-listen", "ADDRESS",
            """
            Answer /metrics, /status and /ready there, such as 127.0.0.1:9464, in plain
            HTTP and to whoever asks: an address for the monitoring alone.
            """),
        CommandOption("--tls-cert", "FILE", "The certificate with its chain, in PEM. SIGHUP reads it again."),
        CommandOption("--tls-key", "FILE", "The certificate's private key, in PEM."),
        CommandOption(
            "--behind-proxy", nil,
            """
            TLS ends in a proxy: plain HTTP is served, also beyond the loopback.
            """),
        CommandOption(
            "--trust-proxy", "ADDRESSES",
            """
            Believe the header Forwarded, or X-Forwarded-For, of these addresses
            alone, such as 10.0.0.7 or 10.0.0.0/8. May be given several times.
            """
        ).repeatable,
        CommandOption(
            "--drain", "TIME",
            """
            How long a server that is told to stop still answers, while GET /ready
            says no, so that load balancers notice. Default: 0s
            """),
        CommandOption("--insecure", nil, "Serve plain HTTP beyond the loopback. Passwords can be read on the way."),
    ]

    static let help = """
        Run a production server: nothing is accepted unauthenticated.

        Usage: nephos serve --url URL [OPTIONS]
               nephos serve            with the settings in \(ConfigurationFile.defaultPath)
               nephos serve --check

        Containers, accounts and API tokens are made by command alone:

          nephos containers create iCloud.org.example.App
          nephos accounts create ada@example.org
          nephos api-tokens create --container iCloud.org.example.App

        GET /health says that the server runs, GET /ready that writes go through: not for ten
        seconds after one failed for lack of disk space. Stop it with SIGTERM.

        Options:
        \(CommandOption.help(
            settings + ServerSettings.storageAndTimes + DevLog.productionOptions + ownOptions))

        \(ServeSettings.note)

        Rates and quotas:
        \(CommandOption.help(RateOptions.options + QuotaOptions.options))

        Mail and sign-up:
        \(CommandOption.help(MailOptions.options))

        Identity providers:
        \(CommandOption.help(ProviderOptions.options))

        \(ServerSettings.help)
        """

    let settings: ServerSettings
    let data: String
    let url: PublicURL
    let socket: String
    let listeners: ServeListeners
    private let rates: RateOptions
    let mail: MailOptions
    let providers: ProviderOptions
    private let quotas: QuotaOptions
    /// In milliseconds.
    private let drain: Int64
    /// What is wrong with the modes of files with secrets.
    let readableSecrets: [String]

    /// Runs the server until a signal ends the process.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        if try ServeSettings.commandLine(arguments).has("--check") { return try ServeCheck.main(arguments) }
        let command = try ServeCommand(try ServeSettings.resolve(arguments))
        let (listeners, log) = (command.listeners, command.settings.log)
        ServerProcess(log: log, portOption: "--listen ADDRESS", drain: Int(command.drain / 1000)).run(reload: {
            listeners.reload(log)
        }) {
            try await command.serve(until: $0, $1)
        }
    }

    /// - Throws: `UsageError`, which names the sources of the settings that are wrong.
    init(_ arguments: Arguments) throws(UsageError) {
        do throws(UsageError) {
            try self.init(resolved: arguments)
        } catch {
            throw arguments.namingSources(error)
        }
    }

    private init(resolved arguments: Arguments) throws(UsageError) {
        data = arguments["--data"] ?? Self.defaultData
        settings = try ServerSettings(arguments, data: data, isProduction: true)
        socket = arguments["--socket"] ?? Self.socketPath(in: data)
        guard let text = arguments["--url"] else {
            throw UsageError(
                "'nephos serve' needs '--url URL', the public address, such as --url https://cloud.example.org, or "
                    + "'url = URL' in \(arguments[Self.configOption.name] ?? ConfigurationFile.defaultPath).")
        }
        guard let url = PublicURL(text) else {
            throw UsageError(
                "'\(MaskedURL.wrong(text))' is not the address of a server: '--url' takes https:// and a host, without a path."
            )
        }
        self.url = url
        listeners = try ServeListeners(arguments, url)
        rates = try RateOptions(arguments)
        mail = try MailOptions(arguments, url)
        providers = try ProviderOptions(arguments)
        quotas = try QuotaOptions(arguments)
        readableSecrets =
            SecretFile.options.compactMap { arguments[$0] }.compactMap(SecretFile.problem)
            + providers.secretFiles.compactMap(SecretFile.problem)
        drain =
            try arguments["--drain"].map { text throws(UsageError) in
                try DurationArgument.parse(text, option: "--drain")
            } ?? 0
        guard drain <= 600_000 else { throw UsageError("'--drain' takes up to 10m.") }
    }

    private func serve(until stops: AsyncStream<Void>, _ isStopping: @Sendable () -> Bool) async throws {
        try Self.checkDirectory(data)
        readableSecrets.forEach(settings.log.note)
        let network = try listeners.open()
        let metrics = try listeners.openMetrics()
        ProcessMemory.keepForNextAnswer()
        SQLiteLibrary.dedicate()
        let stores = try await settings.stores(isStopping)
        try await LostInstallation.check(stores)
        try Self.checkIsProduction(stores.existingStores(), data)
        var people = try providers.people(mail.people)
        people.passkeys = FidoVerifier()
        let installation = try await Installation.open(
            stores, settings.environment, rates: rates.rates, people: people)
        try await settings.check(stores, except: .installation)
        // After the lock of the data: a second server leaves the first one's socket alone.
        let sockets = [network, try ListeningSocket.unix(path: socket)]
        let delivery = settings.notifications.delivery(now: settings.environment.now)
        let service = NephosService(
            stores: stores, environment: settings.environment,
            configuration: configuration(installation, delivery.outlets))
        let responder = Responder(
            service, access: .production(installation, url: url), log: settings.log.observer())
        let served = ServedService(
            service: service, responder: responder, log: settings.log, clients: delivery.clients,
            credentials: listeners.credentials, proxies: listeners.proxies, admitsBodies: true, metrics: metrics,
            drain: drain)
        var upkeep: [@Sendable () async -> Void] = [
            { await installation.purgeExpired() },
            { await service.resumeDeletions(of: installation) },
            { await service.deleteContainers(of: installation) },
            { await installation.chainAudit() },
            { [listeners, settings] in await listeners.watchExpiry(settings.log) },
        ]
        if let outlet = mail.outlet { upkeep.append { await installation.sendMails(to: outlet) } }
        try await served.serve(sockets, until: stops, upkeep: upkeep, finish: installation.finishAudit) { server in
            listeners.started(server)
            Console.print("nephos: serving \(url.text) (production)\n")
        }
        await installation.close()
    }

    private func configuration(_ installation: Installation, _ outlets: NotificationOutlets) -> ServiceConfiguration {
        // No key of a device is kept for others: the first device of an account makes its list.
        var configuration = settings.configuration(outlets, escrowsKeys: false)
        configuration.logsContainers = false
        quotas.apply(to: &configuration)
        configuration.makeWebAuthToken = installation.webAuthToken
        configuration.testWritingAccounts = installation.testWriting
        configuration.noteDevice = installation.noteDevice
        return configuration
    }

    // MARK: The data

    /// Refuses a data directory that is missing, or that other users may change: who replaces its socket gets passwords.
    static func checkDirectory(_ data: String) throws {
        guard FileSystem.isDirectory(data) else {
            throw StorageError(
                .inputOutput,
                "there is no directory \(data): make it for the server's user, or name another with '--data DIR'")
        }
        var status = stat()
        guard stat(data, &status) == 0, status.st_mode & 0o022 == 0,
            status.st_uid == geteuid() || status.st_uid == 0
        else {
            throw StorageError(
                .inputOutput, "other users may change \(data): it is to be the server's user's (chown, chmod 700)")
        }
    }

    /// The path of the socket for administration.
    static func socketPath(in data: String) -> String { "\(data)/nephos.sock" }

    /// Whether a directory is a production server's: it has the socket, or the installation's store.
    static func isProduction(_ data: String) -> Bool {
        if access(socketPath(in: data), F_OK) == 0 { return true }
        return (try? StoredDirectory(path: data).existingStores().contains(.installation)) ?? false
    }

    /// Refuses the data of `nephos dev`, whose accounts are names that everybody could sign in with.
    /// - Throws: `StorageError` `.otherVersion`.
    static func checkIsProduction(_ existing: [StoreID], _ place: String) throws {
        guard existing.isEmpty || existing.contains(.installation) else {
            throw StorageError(
                .otherVersion,
                """
                \(place) has the data of nephos dev, whose accounts are names without a password. \
                'nephos accounts adopt' gives them accounts of a production server. Or choose another place.
                """)
        }
    }
}
