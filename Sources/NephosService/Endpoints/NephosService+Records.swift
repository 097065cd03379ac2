import NephosStorage
package import NephosWire

extension NephosService {
    /// Saves and deletes records (CloudKit Web Services, records/modify).
    package func modifyRecords(
        _ request: ModifyRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordsResponse {
        var response = try await modified(request, context)
        response.syncToken = try await currentSyncToken(of: request.zoneID, context)
        return response
    }

    private func modified(
        _ request: ModifyRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordsResponse {
        var request = request
        if let key = context.requestKey {
            // The key is a hash of the signed message, which has the hash of the body.
            (request.requestKey, request.bodyDigest) = (key, Array(key.utf8))
        }
        return try await perform(context) { [request] store, caller in
            let modify = try ModifyRecords(
                request, caller: caller, environment: self.environment,
                configuration: self.configuration)
            let key = try RequestKey(
                request, modify.account, scope: context.scope, isSigned: context.requestKey != nil,
                isShared: store.engine.isShared, now: store.environment.now())
            let applied: ModifyRecords.Applied
            do {
                applied = try await self.apply(modify, key, to: store)
            } catch let repeated as RequestKey.Repeated {
                return repeated.response
            }
            self.preflight(request, applied, context)
            store.noteSaves(applied.savedBytes, freed: applied.freed, full: applied.full)
            if applied.leftEvents { store.fanOut.wake() }
            if let schema = applied.schema, let (moment, version) = applied.cached {
                store.schemas.remember(schema, at: version, asOf: moment)
            }
            let isCrowded = if let key { store.noteOutcome(applied.outcomeBytes, of: key) } else { false }
            if applied.leftJobs || isCrowded || store.background.isPurgeDue { store.background.wake() }
            return modify.response(applied)
        }
    }

    /// - Throws: also `RequestKey.Repeated` if the request was performed before.
    private func apply(
        _ modify: ModifyRecords, _ key: RequestKey?, to store: Store
    ) async throws -> ModifyRecords.Applied {
        var found = FoundCascades(isFinal: store.engine.isShared)
        while true {
            do {
                return try await apply(modify, key, found, to: store)
            } catch let large as LargeCascade {
                try await found.find(large, store.engine)
            }
        }
    }

    /// - Throws: also `RequestKey.Repeated` if the request was performed before, and `LargeCascade` if a cascade must
    ///   be found before the transaction.
    private func apply(
        _ modify: ModifyRecords, _ key: RequestKey?, _ found: FoundCascades, to store: Store
    ) async throws -> ModifyRecords.Applied {
        try await store.write(by: modify.caller, of: modify.owners(store.accounts)) { transaction in
            try key?.check(in: transaction, isSure: false)
            do {
                if let key { try store.checkMayKeep(key) }
                let moment = store.schemas.now
                try store.watched.refresh(transaction)
                let inputs = try ModifyRecords.Inputs(
                    accounts: store.accounts, indexes: store.indexes.definitions(in: transaction),
                    notifier: store.notifier, lookups: store.lookups, cascades: found, quota: store.quota)
                let schema = try store.schemas.schema(asOf: moment, transaction)
                var applied = try modify.run(schema: schema, inputs, in: transaction)
                if applied.schema == nil, try store.schemas.version(asOf: moment, transaction) == nil {
                    applied.schema = schema
                }
                if applied.schema != nil {
                    applied.cached = (moment, try transaction.version(of: .catalog))
                }
                // An operation that is refused now may have succeeded in an earlier attempt of the request.
                if applied.isRefusedInPart { try key?.check(in: transaction, isSure: true) }
                if let key, applied.changes {
                    applied.outcomeBytes = try key.keep(modify.response(applied), in: transaction)
                }
                return applied
            } catch let error as ServiceError {
                try key?.check(in: transaction, isSure: true)
                throw error
            }
        }
    }

    /// Finds records by name (CloudKit Web Services, records/lookup).
    package func lookupRecords(
        _ request: LookupRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordsResponse {
        // The token is read before the records, so the next fetch returns changes that are made meanwhile.
        let syncToken = try await currentSyncToken(of: request.zoneID, context)
        return try await perform(context, reads: true) { store, caller in
            try self.checkMayRead(caller)
            let lookup = try LookupRecords(
                request, caller: caller, configuration: self.configuration,
                encodesRecords: context.takesEncodedRecords)
            let moment = store.schemas.now
            let length: ReadLength = request.records.count == 1 ? .lookup : .short
            return try await store.read(by: caller, expecting: length) { reader in
                let permissions = try RecordPermissions(caller, store.schemas, asOf: moment, reader)
                var response = try lookup.run(accounts: store.accounts, permissions: permissions, reader)
                response.syncToken = syncToken
                return response
            }
        }
    }
}
