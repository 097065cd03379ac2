import NephosService
import NephosWire

/// A message of the administration that names accounts. The stores of a production server know accounts by their IDs, and
/// people by the names with which they sign in.
protocol AccountNaming {
    var accountNames: [String] { get set }
}

extension AccountNaming {
    /// Returns the message with IDs in place of the names of an installation's accounts, and the names by their IDs. A name
    /// of no account stays.
    func resolved(_ installation: Installation) async throws(ServiceError) -> (message: Self, names: [String: String]) {
        var (message, names) = (self, [String: String]())
        for (index, name) in accountNames.enumerated() where !AccountID.isOne(name) {
            guard let id = try await installation.accountIDIfAny(named: name) else { continue }
            message.accountNames[index] = id
            names[id] = name
        }
        return (message, names)
    }
}

/// One that is about one account.
protocol OneAccountNaming: AccountNaming {
    var account: String { get set }
}

extension OneAccountNaming {
    var accountNames: [String] {
        get { [account] }
        set { account = newValue.first ?? account }
    }
}

extension RoleRequest: OneAccountNaming {}
extension RemoveZonesRequest: OneAccountNaming {}
extension DeleteAccountRequest: OneAccountNaming {}

/// One that is about an account, or about none.
protocol AnyAccountNaming: AccountNaming {
    var account: String? { get set }
}

extension AnyAccountNaming {
    var accountNames: [String] {
        get { account.map { [$0] } ?? [] }
        set { account = newValue.first }
    }
}

extension ListRolesRequest: AnyAccountNaming {}
extension ListAccountZonesRequest: AnyAccountNaming {}
extension ListSharesRequest: AnyAccountNaming {}
extension ExplainQueryRequest: AnyAccountNaming {}

/// One whose place has the account.
protocol PlaceNaming: AnyAccountNaming {
    var place: AdministeredZone { get set }
}

extension PlaceNaming {
    var account: String? {
        get { place.account }
        set { place.account = newValue }
    }
}

extension ListRecordsRequest: PlaceNaming {}
extension ShowRecordRequest: PlaceNaming {}

extension ExplainAccessRequest: AccountNaming {
    var accountNames: [String] {
        get { [account, owner] }
        set {
            guard newValue.count == 2 else { return }
            (account, owner) = (newValue[0], newValue[1])
        }
    }
}

extension RoutedRequest {
    /// Performs a request of the administration about the accounts that its message names.
    /// - Throws: `permissionFailure` if a viewer names accounts in another way than by their IDs: the answers would tell
    ///   whose address is whose account.
    func withResolvedAccounts<Message: Sendable, Answer>(
        _ message: Message, of container: String, _ call: (Message) async throws(ServiceError) -> Answer
    ) async throws(ServiceError) -> Answer {
        guard let installation = access.installation, let naming = message as? any AccountNaming else {
            return try await call(message)
        }
        if let administrator, !administrator.hasRole(for: .readPrivateRecords(container: container)),
            !naming.accountNames.allSatisfy(AccountID.isOne)
        {
            throw ServiceError(
                .accessDenied, .permissionFailure,
                "accounts are named by their IDs: the account has no role that allows "
                    + "to look for people by name")
        }
        let (resolved, names) = try await Self.resolved(naming, installation)
        do throws(ServiceError) {
            return try await call(resolved as? Message ?? message)
        } catch {
            // An account that never used the container is refused as one that does not exist.
            var error = error
            for (id, name) in names { error.reason = error.reason.replacing(id, with: name) }
            throw error
        }
    }

    private static func resolved(
        _ naming: some AccountNaming, _ installation: Installation
    ) async throws(ServiceError) -> (any AccountNaming, [String: String]) {
        try await naming.resolved(installation)
    }
}
