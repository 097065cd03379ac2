import NephosStorage
package import NephosWire

extension NephosService {
    /// Returns all zones of the database (CloudKit Web Services, zones/list).
    package func listZones(_ context: RequestContext) async throws(ServiceError) -> ZonesResponse {
        try await perform(context, reads: true) { store, caller in
            try self.checkMayRead(caller)
            return try await store.read(by: caller) { try LookupZones.list(caller, $0) }
        }
    }

    /// Finds zones by ID (CloudKit Web Services, zones/lookup).
    package func lookupZones(
        _ request: LookupZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ZonesResponse {
        try await perform(context, reads: true) { store, caller in
            try self.checkMayRead(caller)
            return try await store.read(by: caller) { try LookupZones.lookup(request, caller, $0) }
        }
    }

    /// The current change token of a zone, for clients that request it together with records (`getCurrentSyncToken`, as
    /// Apple's own Web clients do). The responses of records/query, lookup and modify have it as `syncToken`.
    /// - Returns: nil if the client does not request the token, for the default zone, which has no feed, and for a
    ///   missing zone.
    func currentSyncToken(
        of zoneID: ZoneIDDictionary?, _ context: RequestContext
    ) async throws(ServiceError) -> String? {
        guard context.wantsSyncToken, let zoneID else { return nil }
        let zones = try await lookupZones(LookupZonesRequest(zones: [zoneID]), context).zones
        if case .zone(let zone)? = zones.first { return zone.syncToken } else { return nil }
    }

    /// Creates and deletes zones (CloudKit Web Services, zones/modify).
    package func modifyZones(
        _ request: ModifyZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ZonesResponse {
        try await perform(context) { store, caller in
            let quotaRefusal = caller.owner.flatMap { store.quota.refusal(of: $0) }
            let modify = ModifyZones(
                request: request, caller: caller, environment: self.environment, quotaRefusal: quotaRefusal)
            try modify.validate()
            let environment = self.environment
            let applied = try await store.write(by: caller) { transaction in
                try store.watched.refresh(transaction)
                let leaving = LeaveShares(
                    caller: caller, environment: environment,
                    indexes: IndexWriter(
                        definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts),
                    notifier: store.notifier)
                return try modify.apply(store.notifier, leaving, in: transaction)
            }
            if let owner = caller.owner {
                store.noteSaves(
                    [owner: applied.newBytes], freed: applied.hasDeleted ? [owner] : [],
                    full: applied.isFull ? [owner] : [])
            }
            if applied.leftEvents { store.fanOut.wake() }
            store.background.wake()
            return ZonesResponse(zones: applied.results)
        }
    }

    /// Deletes zones of the caller's private database, as their user would: all custom zones, or the named ones. No
    /// request of a client has this effect.
    /// - Returns: the names of the deleted zones.
    package func removeZones(
        named zoneNames: [String]? = nil, reason: ZoneDeletionReason, _ context: RequestContext
    ) async throws(ServiceError) -> [String] {
        try await perform(context) { store, caller in
            _ = try caller.requireAccount()
            let remove = RemoveZones(
                zoneNames: zoneNames, reason: reason, caller: caller, environment: self.environment)
            let (names, leftEvents) = try await store.write(by: caller) { transaction in
                try store.watched.refresh(transaction)
                return try remove.apply(store.notifier, in: transaction)
            }
            if let owner = caller.owner, !names.isEmpty { store.noteSaves([:], freed: [owner]) }
            if leftEvents { store.fanOut.wake() }
            store.background.wake()
            return names
        }
    }
}
