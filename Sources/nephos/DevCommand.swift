import Glibc
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage
import NephosThreads
import Synchronization

/// The command `nephos dev`, which runs the local CloudKit.
struct DevCommand {
    static let options = [
        CommandOption("--data", "DIR", "Keep the data in DIR. Default: ./.nephos"),
        CommandOption("--in-memory", nil, "Keep the data in memory and lose it at the end."),
        CommandOption("--port", "N", "Listen on port N; 0 for any free one. Default: 8484"),
        CommandOption("--import", "FILE", "Import the records of an export before anything is served."),
        CommandOption("--import-assets", "DIR", "The files of its assets: the directory of the export's --assets."),
        CommandOption(
            "--require-approval", nil,
            """
            Keep no keys of encrypted values for accounts' devices. By default the
            service keeps them with the data, so that every device has them.
            """),
        CommandOption(
            "--as-production", nil,
            """
            Let only 'nephos schema import' change a schema: saves and queries of what
            it lacks are refused, as production refuses them.
            """),
        CommandOption(
            "--limits", "tight",
            """
            Allow 5 records per request and 2 KB per record, answer with pages of 3, and
            let change tokens expire after a minute: finds missing paging and batches.
            """),
        CommandOption(
            "--listen", "ADDRESS",
            """
            Listen on this address, such as 0.0.0.0, and not on the loopback alone.
            Then every request needs the access token. '--port' has the port.
            """),
        CommandOption(
            "--access-token-file", "FILE",
            """
            The secret of 16 characters or more that every request needs, in the
            header X-Nephos-Access-Token or as the password of Basic authentication.
            The library has it from NEPHOS_ACCESS_TOKEN. No keys of encrypted values
            are kept.
            """),
        CommandOption("--help", nil, "Show this help."),
    ]

    static let help = """
        Run the local CloudKit on this machine, for development and tests.

        Usage: nephos dev [OPTIONS]

        Containers are made by their first write. Any ckAPIToken will do, and
        ckWebAuthToken=dev:NAME signs in as NAME. GET /health says that the server runs,
        GET /ready that writes go through. Stop it with control-C or SIGTERM.

        Options:
        \(CommandOption.help(options.dropLast() + ServerSettings.storageAndTimes + DevLog.options + options.suffix(1)))

        \(ServerSettings.help)
        """

    /// The address beyond the loopback, and the token that its requests need; nil on the loopback.
    private let elsewhere: (address: String, token: AccessToken)?
    private let accessTokenFile: String?

    private static let loopbackAddresses = ["127.0.0.1", "::1", "[::1]", "localhost"]

    private let settings: ServerSettings
    private var port: UInt16 = 8484
    private let requiresApproval: Bool
    private let extendsSchema: Bool
    /// Limits below CloudKit's; nil for CloudKit's.
    private let bounds: ServiceBounds?
    private let importFile: String?
    private let importAssets: String?

    /// Runs the server until a signal ends the process.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try DevCommand(arguments)
        ServerProcess(log: command.settings.log).run { try await command.serve(until: $0, $1) }
    }

    init(_ arguments: [String]) throws(UsageError) {
        let arguments = try Arguments(
            arguments, options: Self.options + ServerSettings.options + DevLog.options, command: "dev")
        if arguments.has("--in-memory") {
            for option in ["--data", "--storage"] where arguments.has(option) {
                throw UsageError("'\(option)' and '--in-memory' exclude each other.")
            }
        }
        settings = try ServerSettings(
            arguments, data: arguments.has("--in-memory") ? nil : arguments["--data"] ?? "./.nephos")
        if settings.data == nil, settings.objectStorage.objects != nil {
            throw UsageError(
                "'--asset-storage' and '--in-memory' exclude each other: the files would outlive their records.")
        }
        if let text = arguments["--port"] {
            guard let port = UInt16(text) else {
                throw UsageError("'\(text)' is not a port: '--port' takes a number from 0 to 65535.")
            }
            self.port = port
        }
        elsewhere = try Self.elsewhere(arguments)
        accessTokenFile = arguments["--access-token-file"]
        requiresApproval = arguments.has("--require-approval") || elsewhere != nil
        extendsSchema = !arguments.has("--as-production")
        switch arguments["--limits"] {
        case nil: bounds = nil
        case "tight": bounds = .tight
        case let other?: throw UsageError("'\(other)' is unknown: '--limits' takes tight.")
        }
        importFile = arguments["--import"]
        importAssets = arguments["--import-assets"]
        if importAssets != nil, importFile == nil { throw UsageError("'--import-assets' belongs to '--import FILE'.") }
    }

    private static func elsewhere(_ arguments: Arguments) throws(UsageError) -> (address: String, token: AccessToken)? {
        let address = arguments["--listen"].flatMap { loopbackAddresses.contains($0) ? nil : $0 }
        if let address, address.contains(":"), address.contains(".") || address.contains("]:") {
            throw UsageError("'--listen \(address)' has a port: 'nephos dev' takes it by '--port'.")
        }
        guard let file = arguments["--access-token-file"] else {
            guard let address else { return nil }
            throw UsageError(
                "nephos dev accepts everyone who can reach it: to listen on '\(address)' give '--access-token-file FILE'."
            )
        }
        guard let token = AccessToken(try ServerCredentials.line(of: file)) else {
            throw UsageError(
                "the line of '\(file)' is no access token: it has 16 to 1000 visible ASCII characters, without spaces.")
        }
        return (address ?? "127.0.0.1", token)
    }

    private func serve(until stops: AsyncStream<Void>, _ isStopping: @Sendable () -> Bool) async throws {
        // The port is bound first, so that a failure to bind it has no side effects.
        let sockets = try sockets()
        accessTokenFile.flatMap(SecretFile.problem).map(settings.log.note)
        ProcessMemory.keepForNextAnswer()
        SQLiteLibrary.dedicate()
        let stores = try await settings.stores(isStopping)
        try await Self.checkIsDevelopment(stores)
        try await settings.check(stores)
        let delivery = settings.notifications.delivery(now: settings.environment.now)
        var configuration = settings.configuration(delivery.outlets, escrowsKeys: !requiresApproval)
        configuration.extendsSchema = extendsSchema
        configuration.logsAdditions = true
        let service = NephosService(
            stores: stores, environment: settings.environment, configuration: configuration)
        let responder = Responder(
            service, access: elsewhere.map { .developmentElsewhere($0.token) } ?? .development,
            log: settings.log.observer())
        if let importFile {
            try await Self.load(importFile, importAssets, Cloud.Local(responder: responder, service: service))
        }
        // After the import, which sends more records per request.
        if let bounds { service.makeFaults().setBounds(bounds) }
        var served = ServedService(service: service, responder: responder, log: settings.log, clients: delivery.clients)
        served.takesAccessToken = elsewhere != nil
        try await served.serve(sockets, until: stops) { server in
            let host = elsewhere.map { $0.address.contains(":") ? "[\($0.address)]" : $0.address } ?? "127.0.0.1"
            Console.print("nephos: serving http://\(host):\(server.port) (development)\n")
            let banner = settings.log.banner(
                port: server.port, data: settings.data, inPostgreSQL: settings.storage != nil,
                keepsKeys: !requiresApproval)
            if let banner { Console.style(banner + "\n") }
        }
    }

    private static func checkIsDevelopment(_ stores: any StoreProvider) async throws {
        if try stores.exists(.installation) {
            throw StorageError(
                .otherVersion,
                """
                The data is a production server's: 'nephos serve' serves it, and 'nephos accounts adopt' finishes what \
                it began. nephos dev would let everybody on this machine sign in as anybody.
                """)
        }
        try await LostInstallation.check(stores)
    }

    private func sockets() throws(ListeningError) -> [ListeningSocket] {
        guard let address = elsewhere?.address else { return try ListeningSocket.loopback(port: port) }
        let host = address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
        return [try ListeningSocket.listen(on: "\(host):\(port)")]
    }

    /// Imports a file on a thread of its own, because an import blocks during each of its requests.
    private static func load(_ path: String, _ assets: String?, _ local: Cloud.Local) async throws {
        let outcome = Mutex<Result<Void, any Error>>(.success(()))
        try await NativeThread.run("import") {
            let result = Result { try ImportCommand.run(path, assets: assets) { try Cloud($0, servedBy: local) } }
            outcome.withLock { $0 = result }
        }
        try outcome.withLock { try $0.get() }
    }
}
