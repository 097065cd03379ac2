package import NephosStorage
package import NephosWire
import Synchronization

/// What CloudKit does. Every way in (HTTP, the caller's own process) ends at these entry points, which throw one type of
/// error: `ServiceError`.
package final class NephosService: Sendable {
    let stores: Stores
    let environment: ServiceEnvironment
    let configuration: ServiceConfiguration
    let schemaTurns = SchemaTurns()
    private let askedQueries = AskedQueries()
    private let pollsHaveEnded = Atomic(false)

    package init(
        stores: any StoreProvider, environment: ServiceEnvironment = .system,
        configuration: ServiceConfiguration = ServiceConfiguration()
    ) {
        self.stores = Stores(provider: stores, environment: environment, configuration: configuration)
        self.environment = environment
        self.configuration = configuration
    }

    // MARK: - Records

    /// Saves and deletes records (CloudKit Web Services, records/modify).
    package func modifyRecords(
        _ request: ModifyRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordsResponse {
        try await perform(context) { store, caller in
            let modify = try ModifyRecords(
                request, caller: caller, containerEnvironment: context.environment, environment: self.environment,
                configuration: self.configuration)
            let applied = try await store.engine.write { transaction in
                let moment = store.schemas.now
                var applied = try modify.run(
                    schema: store.schemas.schema(asOf: moment, transaction), accounts: store.accounts,
                    indexes: store.indexes.definitions(in: transaction), notifier: store.notifier, in: transaction)
                applied.moment = moment
                return applied
            }
            if applied.leftEvents { store.fanOut.wake() }
            if let schema = applied.schema, let moment = applied.moment {
                store.schemas.remember(schema, asOf: moment)
            }
            if applied.leftJobs || store.background.isPurgeDue { store.background.wake() }
            return modify.response(applied)
        }
    }

    /// Finds records by name (CloudKit Web Services, records/lookup).
    package func lookupRecords(
        _ request: LookupRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordsResponse {
        try await perform(context) { store, caller in
            try self.checkMayRead(caller)
            let lookup = try LookupRecords(
                request, caller: caller, configuration: self.configuration,
                encodesRecords: context.takesEncodedRecords)
            let moment = store.schemas.now
            return try await store.engine.read { reader in
                let permissions = try RecordPermissions(caller, store.schemas, asOf: moment, reader)
                return try lookup.run(accounts: store.accounts, permissions: permissions, reader)
            }
        }
    }

    /// Finds records by their values (CloudKit Web Services, records/query).
    package func queryRecords(
        _ request: QueryRecordsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await queryRecords(AskedQuery(request), context)
    }

    /// The query that a body of `records/query` asks; an empty one counts as `{}`.
    package func askedQuery(_ body: [UInt8]) throws(WireError) -> AskedQuery {
        try askedQueries.query(decoding: body)
    }

    /// The same for a query that was decoded, as a server has it.
    package func queryRecords(
        _ asked: AskedQuery, _ context: RequestContext
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await perform(context) { store, caller in
            try self.checkMayRead(caller)
            let query = QueryRecords(
                asked: asked, caller: caller, container: context.container, bounds: self.configuration.queries,
                encodesRecords: context.takesEncodedRecords)
            return try await query.run(on: store)
        }
    }

    // MARK: - Zones

    /// All zones of the database (CloudKit Web Services, zones/list).
    package func listZones(_ context: RequestContext) async throws(ServiceError) -> ZonesResponse {
        try await perform(context) { store, caller in
            try self.checkMayRead(caller)
            return try await store.engine.read { try ZoneLookup.list(caller, $0) }
        }
    }

    /// Finds zones by ID (CloudKit Web Services, zones/lookup).
    package func lookupZones(
        _ request: LookupZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ZonesResponse {
        try await perform(context) { store, caller in
            try self.checkMayRead(caller)
            return try await store.engine.read { try ZoneLookup.lookup(request, caller, $0) }
        }
    }

    /// Makes and deletes zones (CloudKit Web Services, zones/modify).
    package func modifyZones(
        _ request: ModifyZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ZonesResponse {
        try await perform(context) { store, caller in
            let modify = ModifyZones(request: request, caller: caller, environment: self.environment)
            try modify.validate()
            let environment = self.environment
            let (response, leftEvents) = try await store.engine.write { transaction in
                let leaving = LeaveShares(
                    caller: caller, environment: environment,
                    indexes: IndexWriter(
                        definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts),
                    notifier: store.notifier)
                return try modify.apply(store.notifier, leaving, in: transaction)
            }
            if leftEvents { store.fanOut.wake() }
            store.background.wake()
            return response
        }
    }

    // MARK: - Changes

    /// What happened in zones since their tokens (CloudKit Web Services, changes/zone).
    package func recordZoneChanges(
        _ request: RecordZoneChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordZoneChangesResponse {
        try await perform(context) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchRecordZoneChanges(
                request: request, caller: caller, encodesRecords: context.takesEncodedRecords)
            return try await store.engine.read { try fetch.run(accounts: store.accounts, $0) }
        }
    }

    /// The same for one zone, whose failure is the request's (CloudKit Web Services, records/changes).
    package func recordChanges(
        _ request: RecordChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RecordChangesResponse {
        try await perform(context) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchRecordZoneChanges(
                request: RecordZoneChangesRequest(zones: []), caller: caller,
                encodesRecords: context.takesEncodedRecords)
            return try await store.engine.read { reader in
                var room = AnswerRoom()
                // Only the answer of changes/zone has a place for packed records.
                var zone = request.zone
                zone.packed = false
                return RecordChangesResponse(
                    changes: try fetch.changes(zone, room: &room, store.accounts, reader))
            }
        }
    }

    /// Which zones changed since a token (CloudKit Web Services, changes/database).
    package func databaseChanges(
        _ request: DatabaseChangesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> DatabaseChangesResponse {
        try await perform(context) { store, caller in
            try self.checkMayFollow(caller)
            let fetch = FetchDatabaseChanges(request: request, caller: caller)
            return try await store.engine.read { try fetch.run($0) }
        }
    }

    /// Takes zones of the caller's private database away as their user does: all custom ones, or those named. No request
    /// asks for it.
    /// - Returns: the names of the zones that are gone.
    package func removeZones(
        named zoneNames: [String]? = nil, reason: ZoneDeletionReason, _ context: RequestContext
    ) async throws(ServiceError) -> [String] {
        try await perform(context) { store, caller in
            _ = try caller.requireAccount()
            let remove = RemoveZones(
                zoneNames: zoneNames, reason: reason, caller: caller, environment: self.environment)
            let (names, leftEvents) = try await store.engine.write { try remove.apply(store.notifier, in: $0) }
            if leftEvents { store.fanOut.wake() }
            store.background.wake()
            return names
        }
    }

    /// Has the feeds of every open store forget the deletions that are older than a time (milliseconds since 1970), and
    /// returns when that is done. The background does the same by itself, with the retention that is configured.
    package func forgetDeletions(before time: Int64) async throws(ServiceError) {
        do {
            for store in stores.all { _ = try await store.background.forgetDeletions(before: time) }
        } catch {
            environment.log("forgetting deletions: \(error)")
            throw .internalError
        }
    }

    /// Has the background look for old deletions from time to time, until the task is cancelled: they grow old also where
    /// nobody changes anything.
    package func forgetOldDeletions() async {
        // Where deletions are remembered for ever there are still files that nobody needs any more.
        let retention = configuration.deletionRetention ?? .max
        let interval = max(Limits.shortestPurgeInterval, min(retention, Limits.purgeInterval))
        while !Task.isCancelled {
            do {
                try await environment.sleep(.milliseconds(interval))
            } catch {
                return
            }
            for store in stores.all {
                store.background.wakeToForget()
                store.assets.collectNow()
            }
        }
    }

    // MARK: - Life

    /// Opens the stores that exist, so that work which a stop interrupted goes on without waiting for a request.
    package func resume() async {
        await stores.resume()
    }

    /// Returns once the background has nothing left to do: the deletions that the default zone does later, the removal of
    /// deleted zones' records, the making of indexes, the sending of notifications that are due.
    package func settle() async {
        for store in stores.all {
            await store.background.settle()
            await store.assets.settle()
            await store.fanOut.settle()
            await store.indexBuilder.settle()
            await store.dispatcher.settle()
        }
    }

    /// Answers the polls that wait, and from now on every poll at once: for a server that is about to stop.
    package func endPolls() {
        pollsHaveEnded.store(true, ordering: .releasing)
        for store in stores.all { store.courier.close() }
    }

    var hasEndedPolls: Bool { pollsHaveEnded.load(ordering: .acquiring) }

    var openStores: [Store] { stores.all }

    /// Finishes what was accepted, then closes every store.
    package func close() async {
        endPolls()
        await stores.close()
    }

    // MARK: - Every request

    func perform<Response: Sendable>(
        _ context: RequestContext, _ body: (Store, Caller) async throws -> Response
    ) async throws(ServiceError) -> Response {
        do {
            try context.checkContainer()
            let id = StoreID(container: context.container, environment: context.environment.rawValue)
            // Who has no account can only read, and reading makes nothing.
            if context.account == nil {
                return try await stores.usingExistingOrBlank(id) { store in
                    try await body(store, try await store.caller(context))
                }
            }
            return try await stores.using(id) { store in try await body(store, try await store.caller(context)) }
        } catch {
            throw translate(error, requestID: context.requestID)
        }
    }

    /// Everybody may read the public database; the others need an account (`CKContainer`, Apple's documentation).
    private func checkMayRead(_ caller: Caller) throws(ServiceError) {
        if caller.scope != .public { _ = try caller.requireAccount() }
    }

    /// The public database has no change feed (`CKFetchDatabaseChangesOperation`, Apple's documentation).
    private func checkMayFollow(_ caller: Caller) throws(ServiceError) {
        _ = try caller.requireAccount()
        if caller.scope == .public { throw .badDatabase("the public database has no change feed") }
    }

    /// What went wrong below the rules is logged, not sent.
    func translate(_ error: any Error, requestID: String) -> ServiceError {
        if let error = error as? ServiceError { return error }
        environment.log("request \(requestID): \(error)")
        switch (error as? StorageError)?.code {
        case .closed: return .unavailable
        case .busy: return .busy
        case .inputOutput: return .diskFailure
        default: return .internalError
        }
    }
}
