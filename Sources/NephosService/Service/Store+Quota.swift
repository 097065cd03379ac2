import NephosStorage

extension Store {
    /// Measures, in the background, databases to which much was saved.
    /// - Parameters:
    ///   - bytes: what was saved, by owner.
    ///   - full: the owners of databases without quota left, to which saves were refused.
    func noteSaves(_ bytes: [OwnerID: Int64], full: Set<OwnerID>) {
        let due = quota.note(bytes, full: full, at: environment.now())
        for owner in due { measuring.begin { await self.measure(owner) } }
    }

    private func measure(_ owner: OwnerID) async {
        do {
            quota.measured(try await DatabaseSize.measure(owner, engine), of: owner)
        } catch {
            quota.measured(nil, of: owner)
            environment.log("measuring a database for its quota: \(error)")
        }
    }
}
