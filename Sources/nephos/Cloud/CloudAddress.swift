import Glibc
import NephosHTTP
import NephosSQLite
import NephosWire

/// The cloud and the account of a command. The cloud is a running server, or the data directory of a stopped one.
/// Administrators' requests reach a running `nephos serve` by its data directory, too.
struct CloudAddress {
    enum Place: Hashable, CustomStringConvertible {
        case server(ServerAddress)
        case dataDirectory(String)
        /// The Unix socket of a running production server.
        case socket(String)

        var description: String {
            switch self {
            case .server(let address): address.description
            case .dataDirectory(let path), .socket(let path): path
            }
        }
    }

    /// The options that name the container, and the server or the directory.
    static let containerOptions = [
        CommandOption("--url", "URL", "The running server. Default: NEPHOS_URL, or http://127.0.0.1:8484"),
        CommandOption(
            "--data", "DIR",
            """
            The data directory of a server that is not running, or of a running 'nephos serve'
            that is administered.
            """),
        RunningServer.socketOption,
        CommandOption(
            "--container", "ID",
            """
            The container. Default: NEPHOS_CONTAINER, or the only one that a data
            directory has.
            """),
        CommandOption(
            "--environment", "NAME", "development or production. Default: NEPHOS_ENVIRONMENT, or development"),
        ServerCredentials.tokenOption,
    ]

    static let options =
        containerOptions + [
            CommandOption(
                "--database", "NAME", "public, private or shared. Default: private"),
            CommandOption(
                "--account", "NAME",
                """
                Sign in as the account NAME of the local CloudKit, by default your
                user name, or of a production server whose --data it is.
                """),
        ]

    /// The options of a command whose requests no socket answers: accounts', and those to `nephos dev`.
    static func withoutSocket(_ options: [CommandOption]) -> [CommandOption] {
        options.filter { $0.name != RunningServer.socketOption.name }
    }

    var place: Place
    var container: String?
    var environment: String
    var database: String
    /// The token of the account whose database is accessed; nil without an account.
    var token: String?
    /// Whether the account is the user of this machine, as no other was named.
    private(set) var isDefaultAccount = false
    /// The credentials of administrators' requests.
    let credentials: ServerCredentials
    var apiToken: String

    /// - Parameter accountSignsIn: whether `--account` names the account to sign in as, and not the account that an
    ///   administrator's request is about.
    init(_ arguments: Arguments, accountSignsIn: Bool = true) throws(UsageError) {
        try RunningServer.checkIsOnePlace(arguments)
        if let socket = RunningServer.namedSocket(arguments) {
            place = .socket(socket)
        } else if let directory = arguments["--data"] {
            let socket = ServeCommand.socketPath(in: directory)
            place = AdministeredInstallation.isServed(socket) ? .socket(socket) : .dataDirectory(directory)
        } else {
            place = .server(
                try ServerAddress(arguments["--url"] ?? Self.variable("NEPHOS_URL") ?? "http://127.0.0.1:8484"))
        }
        container = arguments["--container"] ?? Self.variable("NEPHOS_CONTAINER")
        environment = arguments["--environment"] ?? Self.variable("NEPHOS_ENVIRONMENT") ?? "development"
        guard ["development", "production"].contains(environment) else {
            throw UsageError("'\(environment)' is unknown: '--environment' takes development or production.")
        }
        database = arguments["--database"] ?? "private"
        guard ["public", "private", "shared"].contains(database) else {
            throw UsageError("'\(database)' is unknown: '--database' takes public, private or shared.")
        }
        credentials = try ServerCredentials(arguments)
        if accountSignsIn, let account = arguments["--account"] {
            guard !arguments.has(ServerCredentials.tokenOption.name) else {
                throw UsageError("'--account' and '\(ServerCredentials.tokenOption.name)' exclude each other.")
            }
            token = Self.token(ofAccount: account)
        } else if credentials.isAnonymous || credentials.token != nil && !credentials.isOfLogin {
            token = credentials.token
        } else {
            token = Self.token(ofAccount: Self.userName)
            isDefaultAccount = true
        }
        apiToken = Self.variable("NEPHOS_API_TOKEN") ?? "nephos"
        if isDefaultAccount { try useLogin() }
    }

    /// Takes the token that `nephos login` got for the container, if it did.
    private mutating func useLogin() throws(UsageError) {
        guard case .server(let address) = place else { return }
        let stored: [StoredCredential]
        do throws(CredentialsFile.Failure) {
            stored = try LoginCommand.file.read()
        } catch {
            throw UsageError("\(error.description).")
        }
        let server = CredentialsFile.server(address.description)
        guard
            let credential = stored.credential(server: server, container: container ?? "", environment: environment)
        else { return }
        (token, isDefaultAccount) = (credential.token, false)
        container = container ?? credential.container
        if Self.variable("NEPHOS_API_TOKEN") == nil, let text = credential.apiToken { apiToken = text }
    }

    /// The name of the account whose private or shared database is accessed, in the local CloudKit; nil without one.
    var databaseAccount: String? {
        database == "public" ? nil : localAccount
    }

    /// The name of the account that the token signs in by name; nil for other tokens, and without one.
    var localAccount: String? {
        guard let token, token.hasPrefix("dev:") else { return nil }
        return String(token.dropFirst(4))
    }

    /// Whether the token is that of an account of a running production server.
    var signsInToProduction: Bool {
        guard case .server = place else { return false }
        return token != nil && localAccount == nil
    }

    /// The token that signs in to the local CloudKit by name.
    static func token(ofAccount name: String) -> String { "dev:\(name)" }

    /// Signs in as another account of the local CloudKit.
    mutating func signIn(as account: String) {
        token = Self.token(ofAccount: account)
        isDefaultAccount = false
    }

    /// Returns the request target of an action, such as `records/query`.
    func target(_ action: String, container: String) -> String {
        let path = ["database", "1", container, environment, database].map { PercentEncoding.escaped($0) }.joined(
            separator: "/")
        return "/\(path)/\(action)?ckAPIToken=\(PercentEncoding.escaped(apiToken))"
    }

    /// Returns a connection to the running server.
    /// - Parameter isAdministration: whether it signs in as for administrators' requests, and not as the account.
    /// - Throws: `Cloud.Failure` if the requests of accounts do not reach the server there.
    func connection(isAdministration: Bool) throws(Cloud.Failure) -> ServerConnection {
        var credentials = credentials
        switch place {
        case .server(let server):
            if !isAdministration { credentials.token = token }
            return ServerConnection(address: server, credentials)
        case .socket(let path) where isAdministration:
            return ServerConnection(socket: path, credentials)
        case .socket:
            throw Cloud.Failure(message: "the server is running. \(Self.accountsNeedURL)")
        case .dataDirectory(let path):
            throw Cloud.Failure(message: "no server is running in \(path).")
        }
    }

    /// What a command that accesses an account's records needs while the production server runs.
    static let accountsNeedURL = """
        Stop it, or reach it with '--url URL': it needs an API token in NEPHOS_API_TOKEN, and an account's in \
        NEPHOS_TOKEN, which 'nephos sessions create' prints.
        """

    /// Returns the request target of an administrator's action, such as `zones/list`.
    func administrationTarget(_ action: String, container: String) -> String {
        "/" + ["nephos", "1", container, environment].map { PercentEncoding.escaped($0) }.joined(separator: "/") + "/"
            + action
    }

    static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    private static var userName: String {
        guard let entry = getpwuid(geteuid()), let name = entry.pointee.pw_name, name.pointee != 0 else { return "me" }
        return String(cString: name)
    }
}
