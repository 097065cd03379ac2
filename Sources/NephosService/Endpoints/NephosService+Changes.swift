import NephosStorage
package import NephosWire

extension NephosService {
    /// Fetches the changes of zones since their tokens (CloudKit Web Services, changes/zone).
    package func recordZoneChanges(
        _ request: RecordZoneChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordZoneChangesResponse {
        try await perform(context, reads: true) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchRecordZoneChanges(
                request: request, caller: caller, encodesRecords: context.takesEncodedRecords)
            return try await store.read(by: caller) { reader in
                try store.validity.refresh(reader)
                return try fetch.run(accounts: store.accounts, reader)
            }
        }
    }

    /// Fetches the changes of one zone (CloudKit Web Services, records/changes). A failure of the zone fails the
    /// request.
    package func recordChanges(
        _ request: RecordChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordChangesResponse {
        try await perform(context, reads: true) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchRecordZoneChanges(
                request: RecordZoneChangesRequest(zones: []), caller: caller,
                encodesRecords: context.takesEncodedRecords)
            return try await store.read(by: caller) { reader in
                try store.validity.refresh(reader)
                var budget = PageBudget()
                // Only responses of changes/zone can contain packed records.
                var zone = request.zone
                zone.packed = false
                return RecordChangesResponse(
                    changes: try fetch.changes(zone, budget: &budget, store.accounts, reader))
            }
        }
    }

    /// Fetches the zones that changed since a token (CloudKit Web Services, changes/database).
    package func databaseChanges(
        _ request: DatabaseChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> DatabaseChangesResponse {
        try await perform(context, reads: true) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchDatabaseChanges(request: request, caller: caller)
            return try await store.read(by: caller) { reader in
                try store.validity.refresh(reader)
                return try fetch.run(reader)
            }
        }
    }
}
