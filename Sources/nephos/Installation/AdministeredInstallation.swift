import FoundationEssentials
import Glibc
import NephosHTTP
import NephosPostgres
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage
import NephosWire

/// The production server that a command administers: a running one through its Unix socket, or the data of a stopped
/// one. Its methods block, so only the main thread of a command calls them.
final class AdministeredInstallation {
    static let options = [
        CommandOption("--data", "DIR", "The data directory of the server. Default: \(ServeCommand.defaultData)"),
        RunningServer.socketOption,
        CommandOption(
            "--url", "URL", "A server elsewhere; the token is that of an administrator's session."),
        ServerCredentials.tokenOption,
        CommandOption("--storage", "ADDRESS", "The PostgreSQL database of a server that is not running."),
        CommandOption(
            "--accept-unsafe-storage", nil, "Use a PostgreSQL server also where it may lose what was answered."),
    ]

    /// A message of the administration. Each action takes some of the members.
    struct Message: Encodable {
        var account: String?
        var password: String?
        var container: String?
        var environment: String?
        var name: String?
        var origins: [String]?
        var allowsSignIn: Bool?
        var callback: String?
        var lifetime: Int64?
        var token: String?
        var session: String?
        var label: String?
        var role: String?
        var after: String?
        var batch: Int64?
        var publicKey: String?
        var replaces: String?
        var keyID: String?
        var head: String?
        var verified: Bool?
        var places: [ProgramPlace]?
        var databases: [String]?
        var readOnly: Bool?
        var id: String?
        var programTokens: Bool?
        var passkey: String?
        var publicRecords: Bool?
    }

    /// An answer of the administration. Each action has some of the members.
    struct Answer: Decodable {
        var id: String?
        var name: String?
        var token: String?
        var ckWebAuthToken: String?
        var count: Int?
        var accounts: [AccountSummary]?
        var containers: [String]?
        var beingDeleted: [String]?
        var deleted: [DeletedEnvironment]?
        var apiTokens: [APITokenSummary]?
        var sessions: [SessionSummary]?
        var roles: [RoleSummary]?
        var keyID: String?
        var serverKeys: [ServerKeySummary]?
        var events: [AuditedEvent]?
        var next: Position?
        var batches: Int?
        var since: Int64?
        var head: String?
        var problem: String?
        var link: String?
        var programTokens: [ProgramTokenSummary]?
        var passkeys: [PasskeySummary]?
        var hasPassword: Bool?
        var methods: [SignInMethodSummary]?
    }

    /// Where the next page begins: a name, or a number of the audit.
    enum Position: Decodable {
        case name(String)
        case number(Int64)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int64.self) {
                self = .number(number)
            } else {
                self = .name(try container.decode(String.self))
            }
        }
    }

    /// What an environment of a deleted container had.
    struct DeletedEnvironment: Decodable {
        var environment: String
        var accounts: Int
        var zones: Int
        var records: Int
        var isComplete: Bool
    }

    private enum Place {
        case socket(String)
        case server(ServerConnection)
        case opened(Responder, NephosService, Installation, any StoreProvider)
    }

    private let place: Place

    /// Runs a command on an installation. The exit status reports success or failure.
    /// - Parameter server: a running server; nil for the one that the arguments name.
    static func run(
        _ arguments: Arguments, on server: ServerAddress? = nil, _ command: (AdministeredInstallation) throws -> Void
    ) throws(UsageError) {
        do {
            let installation = try AdministeredInstallation(arguments, server)
            defer { installation.close() }
            try command(installation)
        } catch let error as UsageError {
            throw error
        } catch let failure as Cloud.Failure {
            Console.fail(failure.message)
        } catch let error as StorageError {
            Console.fail(error.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    /// Whether a running server has accounts to administer: whether it is no `nephos dev`.
    /// - Throws: `Cloud.Failure` if the server cannot be reached.
    static func isProduction(_ server: ServerAddress, _ arguments: Arguments) throws -> Bool {
        let connection = ServerConnection(address: server, try ServerCredentials(arguments))
        do throws(ServerConnection.Failure) {
            let (status, answer) = try connection.post(target("accounts/list"), Array("{}".utf8))
            return status == 200 || (try? ErrorDictionary(decoding: answer))?.reason != Refusal.noHandler.reason
        } catch {
            throw Cloud.Failure(message: error.description)
        }
    }

    private static func target(_ action: String) -> String { "/nephos/1/installation/\(action)" }

    private init(_ arguments: Arguments, _ server: ServerAddress?) throws {
        if let server = try server ?? arguments["--url"].map(ServerAddress.init) {
            try RunningServer.checkIsOnePlace(arguments)
            place = .server(ServerConnection(address: server, try ServerCredentials(arguments)))
            return
        }
        // The database of a stopped server may be named besides.
        if !arguments.has("--storage"), let socket = RunningServer.namedSocket(arguments) {
            place = .socket(socket)
            return
        }
        let data = arguments["--data"] ?? ServeCommand.defaultData
        let socket = arguments["--socket"] ?? ServeCommand.socketPath(in: data)
        // A server that was killed leaves its socket.
        switch access(socket, F_OK) == 0 ? Self.request(socket, .get, "/health") : nil {
        case .success: place = .socket(socket)
        case .failure(let failure) where failure.kind != .cannotConnect:
            throw Cloud.Failure(message: "the server cannot be reached through \(socket): \(failure.reason)")
        case .failure, nil: place = try Self.open(data, arguments)
        }
    }

    /// Opens the data of a stopped server.
    private static func open(_ data: String, _ arguments: Arguments) throws -> Place {
        try DataOwner.become(ofData: data)
        let stores: any StoreProvider
        if let text = arguments["--storage"] {
            let options = PostgresOptions(
                connections: 2, acceptsUnsafeServer: arguments.has("--accept-unsafe-storage"))
            stores = try StoresInFiles.database(
                try StorageAddress.parse(text, option: "--storage"), options, assets: data)
        } else {
            guard access(data, F_OK) == 0 else {
                throw Cloud.Failure(
                    message: "there is no directory \(data): name the server's with '--data DIR', and make it for the "
                        + "server's user")
            }
            stores = try StoresInFiles.open(data, remedy: "Give \(StoresInFiles.storageOption).")
        }
        let result = waiting { () async -> Result<Installation, any Error> in
            do {
                try await LostInstallation.check(stores)
                try ServeCommand.checkIsProduction(stores.existingStores(), data)
                return .success(try await Installation.open(stores))
            } catch { return .failure(error) }
        }
        let installation = try result.get()
        let service = NephosService(
            stores: stores, configuration: ServiceConfiguration(deletionRetention: nil, worksInBackground: false))
        let responder = Responder(service, access: .production(installation, url: .unused))
        return .opened(responder, service, installation, stores)
    }

    /// Sends a message to an action, such as `accounts/create`.
    /// - Throws: `Cloud.Failure` if the server refuses it.
    func send(_ action: String, _ message: Message = Message()) throws -> Answer {
        let target = Self.target(action)
        let body = [UInt8](try JSONEncoder().encode(message))
        let (status, answer): (Int, [UInt8])
        switch place {
        case .socket(let path):
            switch Self.request(path, .post, target, body) {
            case .success(let response): (status, answer) = (response.status, response.body)
            case .failure(let failure):
                throw Cloud.Failure(
                    message:
                        "no answer from the server at \(path): \(failure.reason). It may have carried the command out, or go on "
                        + "with it: look before you repeat it.")
            }
        case .server(let connection):
            do throws(ServerConnection.Failure) {
                (status, answer) = try connection.post(target, body)
            } catch {
                throw Cloud.Failure(message: error.description)
            }
        case .opened(let responder, _, _, _):
            var request = NephosServer.HTTPRequest(
                method: .post, target: target, host: "localhost", body: body, takesAdditions: true)
            request.localUser = DataOwner.caller
            let response = waiting { [request] in await responder.respond(to: request) }
            (status, answer) = (response.status, response.body)
        }
        guard status == 200 else {
            let error = try? ErrorDictionary(decoding: answer)
            // Other errors of this code name the missing item.
            if error?.reason == Refusal.noHandler.reason, case .server(let connection) = place {
                throw Cloud.Failure(
                    message:
                        "\(connection.place) has no accounts to administer: it is no 'nephos serve'. 'nephos dev' signs in "
                        + "everybody under any name, without sign-in methods, sessions and roles.")
            }
            throw Cloud.Failure(message: error?.reason ?? "the server answers with status \(status)")
        }
        return try JSONDecoder().decode(Answer.self, from: Data(answer))
    }

    /// Whether a server answers at a socket.
    static func isServed(_ socket: String) -> Bool {
        guard access(socket, F_OK) == 0, case .success = request(socket, .get, "/health") else { return false }
        return true
    }

    /// The containers of a running server.
    static func containers(servedAt socket: String) throws -> [String] {
        switch request(socket, .post, target("containers/list"), Array("{}".utf8)) {
        case .success(let response) where response.status == 200:
            return try JSONDecoder().decode(Answer.self, from: Data(response.body)).containers ?? []
        case .success(let response):
            let error = try? ErrorDictionary(decoding: response.body)
            throw Cloud.Failure(message: error?.reason ?? "the server answers with status \(response.status)")
        case .failure(let failure):
            throw Cloud.Failure(message: "the server cannot be reached through \(socket): \(failure.reason)")
        }
    }

    private static let client = HTTPClient()

    /// Sends a request to a server through its Unix socket.
    private static func request(
        _ socket: String, _ method: NephosHTTP.HTTPRequest.Method, _ target: String, _ body: [UInt8] = []
    ) -> Result<NephosHTTP.HTTPResponse, HTTPFailure> {
        var request = NephosHTTP.HTTPRequest(method, "http://localhost\(target)")
        request.unixSocket = socket
        if method == .post {
            request.headers = [("Content-Type", "application/json")]
            request.body = .bytes(body)
        }
        return waiting { [request] in
            do throws(HTTPFailure) {
                return .success(try await client.send(request))
            } catch {
                return .failure(error)
            }
        }
    }

    private func close() {
        guard case .opened(_, let service, let installation, let stores) = place else { return }
        waiting {
            await service.close()
            await installation.close()
        }
        stores.close()
    }
}
