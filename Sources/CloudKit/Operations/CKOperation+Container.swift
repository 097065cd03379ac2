import NephosWire

// What operations share that work on a container, and on none of its databases.
extension CKOperation {
    /// The container the operation works in, by the configuration that holds now.
    var effectiveContainer: CKContainer {
        (effectiveConfiguration.container ?? nil) ?? CKContainer.default()
    }

    /// What the operation's errors say about where they come from.
    var containerErrorContext: ErrorContext {
        ErrorContext(containerID: effectiveContainer.session.identifier, operationID: operationID)
    }

    /// Fails where there is no account.
    func requireAccount() async throws(CKError) {
        let values = effectiveConfiguration
        let call = ServiceCall(
            scope: .public,
            requestTimeout: values.timeoutIntervalForRequest ?? ConfigurationValues.defaultRequestTimeout,
            resourceTimeout: values.resourceTimeout)
        _ = try await effectiveContainer.session.currentUser(call, containerErrorContext)
    }
}
