import Glibc
import NephosHTTP
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage
import NephosWire
import Synchronization

/// The cloud that a command works on. A data directory answers the same requests as a server, without a socket.
///
/// Its methods block, so only the main thread of a command calls them.
final class Cloud {
    /// A failure that the command prints on standard error.
    struct Failure: Error, CustomStringConvertible {
        var message: String
        /// The raw value of the `CKError.Code` in the answer of the service; nil if the answer has none.
        var clientErrorCode: Int?
        var description: String { message }

        /// Whether the environment of the service has no such container (`CKError.Code.badContainer`).
        var isMissingContainer: Bool { clientErrorCode == 5 }

        init(message: String, clientErrorCode: Int? = nil) {
            self.message = message
            self.clientErrorCode = clientErrorCode
        }
    }

    /// A service that runs in this process.
    struct Local {
        let responder: Responder
        let service: NephosService
        /// The installation of a stopped production server; nil for the local CloudKit.
        var installation: Installation?
        let auditNote = AuditNote()
    }

    /// Notes that the audit has the command.
    final class AuditNote: Sendable {
        private let isMade = Atomic(false)

        /// - Returns: whether this is the first call.
        func make() -> Bool { !isMade.exchange(true, ordering: .relaxed) }
    }

    let address: CloudAddress
    let container: String
    /// The service in this process; nil if a server answers the requests.
    let local: Local?
    /// The data directory that `close` closes; nil if this object opened none.
    private let opened: DataDirectory?

    /// Returns the same cloud with the account, database, environment or container of another address. They need not
    /// exist.
    func with(_ address: CloudAddress) -> Cloud { Cloud(address, address.container ?? container, local) }

    private init(_ address: CloudAddress, _ container: String, _ local: Local?) {
        self.address = address
        self.container = container
        self.local = local
        opened = nil
    }

    /// Creates a cloud on a service that already runs in this process and continues to run.
    /// - Throws: `Failure` if the address names no container.
    convenience init(_ address: CloudAddress, servedBy local: Local) throws(Failure) {
        guard let container = address.container else { throw Failure(message: "which container?") }
        self.init(address, container, local)
    }

    /// - Throws: `UsageError` if the address names no container; `Failure`; `StorageError`.
    init(_ address: CloudAddress) throws {
        self.address = address
        switch address.place {
        case .socket(let path):
            container = try address.container ?? Self.onlyContainer(servedAt: path)
            local = nil
            opened = nil
        case .server:
            guard let container = address.container else {
                throw UsageError("which container? Name it with '--container ID', or in NEPHOS_CONTAINER.")
            }
            self.container = container
            local = nil
            opened = nil
        case .dataDirectory(let path):
            guard access(path, F_OK) == 0 else { throw Failure(message: "there is no directory \(path).") }
            let stores = try Self.stores(in: path)
            let installation = try Self.installation(in: stores)
            container = try Self.container(address, in: stores, installation, path)
            // This service runs no background jobs. The server decides, for instance, how long tombstones are kept.
            let service = NephosService(
                stores: stores,
                configuration: ServiceConfiguration(deletionRetention: nil, worksInBackground: false))
            let responder = Responder(
                service,
                access: installation.map { .stoppedProduction($0, localUser: DataOwner.caller) } ?? .development)
            local = Local(responder: responder, service: service, installation: installation)
            opened = stores
        }
    }

    /// Returns the only container of a running production server.
    static func onlyContainer(servedAt socket: String) throws -> String {
        let known = try AdministeredInstallation.containers(servedAt: socket)
        if known.count == 1 { return known[0] }
        throw UsageError(
            "which container? Name it with '--container ID'. There are: "
                + (known.isEmpty ? "none" : known.joined(separator: ", ")) + ".")
    }

    /// Returns the container that the address selects, which must exist.
    private static func container(
        _ address: CloudAddress, in stores: DataDirectory, _ installation: Installation?, _ path: String
    ) throws -> String {
        let known =
            try installation.map(containers)
            ?? stores.existingStores().filter { $0.environment == address.environment }.map(\.container)
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        guard let container = address.container else {
            if known.count == 1 { return known[0] }
            throw UsageError(
                "which container? Name it with '--container ID'. Containers in \(path), \(address.environment): \(list)."
            )
        }
        guard known.contains(container) else {
            throw Failure(
                message: "there is no container \(container) in \(path), \(address.environment). There are: \(list)."
                    + Suggestion.text(for: container, among: known))
        }
        return container
    }

    /// Runs a command on a cloud. The exit status reports success or failure.
    static func run(on address: CloudAddress, _ command: (Cloud) throws -> Void) throws(UsageError) {
        do {
            let cloud = try Cloud(address)
            defer { cloud.close() }
            try command(cloud)
        } catch let error as UsageError {
            throw error
        } catch let failure as Failure {
            Console.fail(failure.message)
        } catch let error as StorageError {
            Console.fail(error.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    /// Sends a message and decodes the answer.
    /// - Parameter other: the container of the request; nil for the container of the address.
    /// - Throws: `Failure` if the service refuses the request.
    func request<Answer: WireMessage>(
        _ action: String, _ message: some WireMessage, in other: String? = nil, as: Answer.Type
    ) throws -> Answer {
        try decoded(
            try send(
                message.encoded(), to: address.target(action, container: other ?? container), isAdministration: false))
    }

    /// Sends a request without a message, such as `zones/list`, and decodes the answer.
    func read<Answer: WireMessage>(_ action: String, as: Answer.Type) throws -> Answer {
        try decoded(try send(nil, to: address.target(action, container: container), isAdministration: false))
    }

    /// Sends an administrator's request and decodes the answer.
    func administer<Answer: WireMessage>(
        _ action: String, _ message: some WireMessage, as: Answer.Type
    ) throws -> Answer {
        try decoded(
            try send(
                message.encoded(), to: address.administrationTarget(action, container: container),
                isAdministration: true))
    }

    /// Checks that the container exists, because reading must not create it.
    func checkContainerExists() throws {
        _ = try administer("accounts/list", ListAccountsRequest(), as: AccountsResponse.self)
    }

    /// Checks that the container and the account of the database exist, because reading must not create them. The token
    /// of a production server's account need not have a role, and reaches no container that does not exist.
    func checkExists() throws {
        if address.signsInToProduction {
            _ = try read("zones/list", as: ZonesResponse.self)
            return
        }
        guard let account = address.databaseAccount else { return try checkContainerExists() }
        _ = try administer(
            "zones/list", ListAccountZonesRequest(account: try storedSignIn(account)), as: AccountZonesResponse.self)
    }

    /// Returns the names of all accounts in the container.
    func accountNames() throws -> [String] { try accounts().map(\.name) }

    /// Returns all accounts in the container.
    func accounts() throws -> [AccountsResponse.Account] {
        var accounts: [AccountsResponse.Account] = []
        var request = ListAccountsRequest()
        repeat {
            let page = try administer("accounts/list", request, as: AccountsResponse.self)
            accounts += try page.accounts.map { account in
                var account = account
                account.name = try shown(account.name)
                return account
            }
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
        return accounts
    }

    /// Returns the names of the record types in the schema of the container.
    func recordTypes() throws -> [String] {
        let target = address.administrationTarget("schema/export", container: container)
        let (status, body) = try send(nil, to: target, isAdministration: true)
        guard status == 200 else {
            let error = try? ErrorDictionary(decoding: body)
            throw Failure(message: error?.reason ?? "the schema cannot be read: status \(status)")
        }
        return Self.recordTypes(inSchema: String(decoding: body, as: UTF8.self))
    }

    /// Returns the record types of an exported schema. Its layout is fixed: each type starts on a line of its own.
    static func recordTypes(inSchema text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 4, words[0] == "RECORD", words[1] == "TYPE", words[3] == "(" else { return nil }
            return words[2].filter { $0 != "\"" }
        }
    }

    func decoded<Answer: WireMessage>(_ answer: (status: Int, body: [UInt8])) throws -> Answer {
        let (status, body) = answer
        do {
            guard status == 200 else {
                let error = try ErrorDictionary(decoding: body)
                throw Failure(
                    message: "\(error.reason) (\(error.serverErrorCode.rawValue))",
                    clientErrorCode: error.clientErrorCode)
            }
            return try Answer(decoding: body)
        } catch let failure as Failure {
            throw Failure(message: try shown(failure.message), clientErrorCode: failure.clientErrorCode)
        } catch let error as WireError {
            throw Failure(message: "the answer, of status \(status), cannot be read: \(error)")
        }
    }

    /// Sends a POST request with a body, or a GET request if the body is nil.
    private func send(
        _ body: [UInt8]?, to target: String, isAdministration: Bool
    ) throws -> (status: Int, body: [UInt8]) {
        if !isAdministration { try audit() }
        guard let responder = local?.responder else {
            let connection = try address.connection(isAdministration: isAdministration)
            do throws(ServerConnection.Failure) {
                guard let body else { return try connection.get(target) }
                return try connection.post(target, body)
            } catch {
                throw Failure(message: error.description)
            }
        }
        var request = HTTPRequest(
            method: body == nil ? .get : .post, target: target, host: "localhost", body: body ?? [],
            takesAdditions: true)
        request.authorization = isAdministration ? nil : try signInToken().flatMap(AuthorizationHeader.value)
        let response = waiting { [request] in await responder.respond(to: request) }
        return (response.status, response.body)
    }

    /// Closes everything that this object opened, in the right order.
    func close() {
        guard let opened, let service = local?.service else { return }
        let installation = local?.installation
        waiting {
            await service.close()
            await installation?.close()
        }
        opened.close()
    }
}
