extension Store {
    /// - Throws: `requestRateLimited` if the request is signed, and the outcomes of its account's are at their bound.
    func checkMayKeep(_ key: RequestKey) throws(ServiceError) {
        guard key.isSigned else { return }
        if let refusal = signedOutcomes.refusal(of: key.account, at: environment.now()) { throw refusal }
    }

    /// Counts a stored outcome.
    /// - Parameter bytes: the size of the outcome; 0 if none was stored.
    /// - Returns: whether a purge of the account's outcomes is due.
    func noteOutcome(_ bytes: Int, of key: RequestKey) -> Bool {
        if key.isSigned, signedOutcomes.note(bytes, of: key.account) {
            measuring.begin {
                do {
                    try await self.signedOutcomes.measure(key.account, self.engine)
                } catch {
                    self.environment.log("measuring the outcomes of signed requests: \(error)")
                }
            }
        }
        return background.noteOutcome(bytes, of: key.account)
    }
}
