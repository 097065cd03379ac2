/// A document of a provider, as it was fetched last. One fetch is under way at most, and none for a time after one that
/// failed: callers without an account cause few requests.
actor ProviderCache<Value: Sendable> {
    typealias Fetch = @Sendable () async throws(ProviderFailure) -> Value

    private let fetch: Fetch
    private let now: @Sendable () -> Int64
    private var last: (outcome: Result<Value, ProviderFailure>, at: Int64)?
    private var underWay: Task<Result<Value, ProviderFailure>, Never>?

    init(now: @escaping @Sendable () -> Int64, fetch: @escaping Fetch) { (self.now, self.fetch) = (now, fetch) }

    /// Returns the document, at most `Limits.providerCacheLifetime` old.
    /// - Parameter isSufficient: whether the document has what is looked for. One that has not is fetched again, if it is
    ///   older than `Limits.providerKeysInterval`.
    func value(_ isSufficient: @Sendable (Value) -> Bool = { _ in true }) async throws(ProviderFailure) -> Value {
        if let (outcome, at) = last {
            let age = now() - at
            switch outcome {
            case .success(let value):
                let lifetime = isSufficient(value) ? Limits.providerCacheLifetime : Limits.providerKeysInterval
                if (0..<lifetime).contains(age) { return value }
            case .failure(let failure): if (0..<Limits.providerRetryInterval).contains(age) { throw failure }
            }
        }
        return try await refresh().get()
    }

    /// Fetches the document, or waits for the fetch under way.
    private func refresh() async -> Result<Value, ProviderFailure> {
        if let underWay { return await underWay.value }
        let task = Task { [fetch] () async -> Result<Value, ProviderFailure> in
            do throws(ProviderFailure) { return .success(try await fetch()) } catch { return .failure(error) }
        }
        underWay = task
        let outcome = await task.value
        (last, underWay) = ((outcome, now()), nil)
        return outcome
    }
}
