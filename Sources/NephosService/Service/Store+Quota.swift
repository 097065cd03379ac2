import NephosStorage

extension Store {
    /// Measures, in the background, databases to which much was saved, and full ones from which something was deleted.
    /// - Parameters:
    ///   - bytes: what was saved, by owner.
    ///   - freed: the owners of databases that were made smaller.
    ///   - full: the owners of databases without quota left, to which saves were refused.
    func noteSaves(_ bytes: [OwnerID: Int64], freed: Set<OwnerID> = [], full: Set<OwnerID> = []) {
        measure(quota.note(bytes, freed: freed, full: full, at: environment.now()))
    }

    private func measure(_ due: RecordQuota.Due) {
        for owner in due.owners { measuring.begin { await self.measure(owner) } }
        guard let time = due.recheckAt else { return }
        quotaTimer.wake(at: time, environment) { [weak self] in
            guard let self else { return }
            measure(quota.recheck(at: environment.now()))
        }
    }

    private func measure(_ owner: OwnerID) async {
        do {
            quota.measured(try await DatabaseSize.measure(owner, engine), of: owner)
        } catch {
            quota.measured(nil, of: owner)
            environment.log("measuring a database for its quota: \(error)")
        }
        // What was deleted meanwhile is measured later.
        measure(quota.recheck(at: environment.now()))
    }
}
