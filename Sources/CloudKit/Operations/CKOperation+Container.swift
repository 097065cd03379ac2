import NephosWire

// What operations share that work on a container, and on none of its databases.
extension CKOperation {
    /// The container the operation works in, by the configuration that holds now.
    var effectiveContainer: CKContainer {
        (effectiveConfiguration.container ?? nil) ?? CKContainer.default()
    }

    /// The account as which the operation works in it.
    var containerAccount: AccountSession { account(in: effectiveContainer.session) }

    /// What the operation's errors say about where they come from.
    var containerErrorContext: ErrorContext {
        ErrorContext(containerID: effectiveContainer.session.identifier, operationID: operationID)
    }

    /// Fails where there is no account.
    func requireAccount() async throws(CKError) {
        _ = try await containerAccount.currentUser(containerCall, containerErrorContext)
    }

    /// A request by the operation's configuration.
    var containerCall: ServiceCall {
        let values = effectiveConfiguration
        return ServiceCall(
            scope: .public,
            requestTimeout: values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout,
            resourceTimeout: values.resourceTimeout)
    }
}
