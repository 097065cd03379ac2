import NephosWire

// Members that are shared by operations on a container, as opposed to operations on one of its databases.
extension CKOperation {
    /// The container of the operation under its effective configuration.
    var effectiveContainer: CKContainer {
        (effectiveConfiguration.container ?? nil) ?? CKContainer.default()
    }

    /// The account as which the operation uses its container.
    var containerAccount: AccountSession { account(in: effectiveContainer.session) }

    /// The origin that the operation's errors name.
    var containerErrorContext: ErrorContext {
        ErrorContext(containerID: effectiveContainer.session.identifier, operationID: operationID)
    }

    /// Fails if there is no account.
    func requireAccount() async throws(CKError) {
        _ = try await containerAccount.currentUser(containerCall, containerErrorContext)
    }

    /// The parameters of requests under the operation's effective configuration.
    var containerCall: ServiceCall {
        ServiceCall(scope: .public, effectiveConfiguration)
    }
}
