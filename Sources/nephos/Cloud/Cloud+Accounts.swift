import Glibc
import NephosHTTP
import NephosSQLite
import NephosService
import NephosStorage
import NephosWire

/// The accounts of a stopped production server. Its stores know them by their IDs, people by their names.
extension Cloud {
    /// Opens a data directory.
    static func stores(in path: String) throws -> DataDirectory {
        do {
            return try StoresInFiles.open(path)
        } catch let error as StorageError where error.code == .inUse && ServeCommand.isProduction(path) {
            throw Failure(message: "\(error.message) \(CloudAddress.accountsNeedURL)")
        }
    }

    /// Opens the installation of a stopped production server; nil for the directory of the local CloudKit.
    static func installation(in stores: DataDirectory) throws -> Installation? {
        guard try stores.existingStores().contains(.installation) else { return nil }
        return try waiting { () async -> Result<Installation, any Error> in
            do { return .success(try await Installation.open(stores)) } catch { return .failure(error) }
        }.get()
    }

    /// Adds the command to the audit of a stopped production server, once, before it reads or writes records. A running server
    /// has their accounts' sign-ins in the audit. What administrators change the responder adds.
    func audit() throws {
        guard let local, let installation = local.installation, local.auditNote.make() else { return }
        try Self.audit(
            "nephos \(CommandLine.arguments.dropFirst().first ?? "")",
            AuditedEvent.object(container, address.environment), in: installation)
    }

    /// Adds an event of the user of this machine to the audit of a stopped production server.
    static func audit(_ event: String, _ object: String, in installation: Installation) throws(Failure) {
        try answer { () async throws(ServiceError) in
            try await installation.audit(
                event, object, by: Administrator.localUser(DataOwner.caller).actor(address: ""))
        }
    }

    /// Returns the containers of a production server, written or not.
    static func containers(of installation: Installation) throws -> [String] {
        try answer { () async throws(ServiceError) in try await installation.containers() }
    }

    /// Returns the name by which the stores know an account: in the data of a production server its ID.
    /// - Throws: `Failure` if the production server has no such account.
    func stored(_ account: String) throws -> String {
        guard let installation = local?.installation else { return account }
        if AccountID.isOne(account) {
            // Only an account that the container has already, such as one whose name is lost, has no other name.
            _ = try administer("zones/list", ListAccountZonesRequest(account: account), as: AccountZonesResponse.self)
            return account
        }
        return try Self.answer { () async throws(ServiceError) in try await installation.accountID(named: account) }
    }

    /// Returns a text of the service with the names of a production server's accounts in place of their IDs.
    func shown(_ text: String) throws -> String {
        guard let installation = local?.installation else { return text }
        return try Self.answer { () async throws(ServiceError) in try await installation.naming(text) }
    }

    /// The token that signs requests in.
    /// - Throws: `Failure` if the production server has no such account.
    func signInToken() throws -> String? {
        guard local?.installation != nil, let account = address.localAccount else { return address.token }
        // The user of this machine is no account of a production server.
        if address.isDefaultAccount, address.database == "public" { return nil }
        return CloudAddress.token(ofAccount: try storedSignIn(account))
    }

    /// Returns the name by which the stores know the account that signs in.
    /// - Throws: `Failure` if the production server has no such account; `UsageError` if none was named.
    func storedSignIn(_ account: String) throws -> String {
        if local?.installation != nil, address.isDefaultAccount {
            throw UsageError("which account of the production server? Name it with '--account NAME'.")
        }
        return try stored(account)
    }

    private static func answer<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(ServiceError) -> Value
    ) throws(Failure) -> Value {
        let result = waiting { () async -> Result<Value, ServiceError> in
            do throws(ServiceError) { return .success(try await body()) } catch { return .failure(error) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw Failure(message: error.reason, clientErrorCode: error.clientCode.rawValue)
        }
    }
}
