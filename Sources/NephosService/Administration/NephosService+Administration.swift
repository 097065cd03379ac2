import NephosStorage
package import NephosWire

/// Operator commands on accounts' data. CloudKit Web Services has no counterpart. The commands use only the container
/// and the environment of the context.
extension NephosService {
    /// Lists the custom zones of one account's private database; those of all accounts if the request names no account.
    package func listAccountZones(
        _ request: ListAccountZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountZonesResponse {
        // Where a container exists once it is used, an environment without it is more likely a mistake.
        let isUnused = request.account == nil && context.isContainerKnown
        let unused = isUnused ? AccountZonesResponse(zones: []) : nil
        return try await administer(context, ifUnused: unused) { store in
            let strings = TokenCodec(key: store.key, database: "")
            return try await store.engine.read { reader in
                if let name = request.account {
                    let account = try Self.account(named: name, reader)
                    return AccountZonesResponse(
                        zones: try reader.zones(owner: account.owner).compactMap { Self.description($0, account) })
                }
                return try Self.zones(after: request.continuationMarker, strings, reader)
            }
        }
    }

    /// Deletes zones of an account's private database, as the account's user would. If one of the zones does not exist,
    /// no zone is deleted. Devices see the deletions in their next fetch.
    /// - Returns: the deleted zones.
    package func removeZones(
        _ request: RemoveZonesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountZonesResponse {
        let account = try await administer(context) { store in
            try await store.engine.read { try Self.account(named: request.account, $0) }
        }
        if let name = request.zones?.first(where: ZoneRules.isDefault) {
            throw .invalid("the zone '\(name)' cannot be removed: every database has it")
        }
        var theirs = context
        (theirs.account, theirs.scope) = (account.name, .private)
        let names = try await removeZones(named: request.zones, reason: request.reason, theirs)
        return AccountZonesResponse(zones: names.map { .init(account: account.name, zoneName: $0) })
    }

    /// Purges the container's tombstones that are older than `olderThan`. Change tokens from before a purged deletion
    /// expire.
    package func forgetDeletions(
        _ request: ForgetDeletionsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ForgetDeletionsResponse {
        // If `olderThan` is 0, deletions of this millisecond are purged too.
        let (time, isBeforeAll) = environment.now().subtractingReportingOverflow(request.olderThan)
        return try await administer(context) { store in
            if isBeforeAll { return ForgetDeletionsResponse(records: 0, zones: 0) }
            let forgotten = try await store.background.forgetDeletions(before: time + (request.olderThan == 0 ? 1 : 0))
            return ForgetDeletionsResponse(records: forgotten.records, zones: forgotten.zones)
        }
    }

    // MARK: - Every command

    /// Runs `body` on the container's store. Throws if the container does not exist, so a misspelt name creates no
    /// container.
    /// - Parameter unused: the answer for a container that exists, but that is unused in the environment; nil to
    ///   throw.
    func administer<Answer: Sendable>(
        _ context: RequestContext, ifUnused unused: Answer? = nil, _ body: (Store) async throws -> Answer
    ) async throws(ServiceError) -> Answer {
        try context.checkContainer()
        do {
            let id = StoreID(container: context.container, environment: context.environment.rawValue)
            return try await stores.usingExisting(id) { store in
                if let store { return try await body(store) }
                if let unused {
                    if context.isContainerKnown { return unused }
                    if try await stores.known().contains(where: { $0.container == id.container }) { return unused }
                }
                throw try await self.missingContainer(id, context)
            }
        } catch {
            throw translate(error, requestID: context.requestID)
        }
    }

    /// The error for a missing container, with a suggestion of the container that the caller may mean. Where containers
    /// are made before they are used, the caller may have a role of this one alone, and gets no suggestion.
    func missingContainer(_ id: StoreID, _ context: RequestContext) async throws -> ServiceError {
        if context.isContainerKnown {
            return ServiceError(
                .badRequest, .badContainer, "the container \(id.container) is not used in \(id.environment) yet")
        }
        let known = try await stores.known()
        let others = known.filter { $0.container == id.container }.map(\.environment)
        let hint =
            others.isEmpty
            ? Suggestion.clause(for: id.container, among: Set(known.map(\.container)).sorted())
            : "; it is in \(others.sorted().joined(separator: ", "))"
        return ServiceError(
            .badRequest, .badContainer, "there is no container \(id.container) in \(id.environment)" + hint)
    }

    /// Decodes a continuation marker to the ID after which the page starts; returns 0 without a marker.
    static func position(
        _ marker: String?, for purpose: TokenCodec.Purpose, _ strings: TokenCodec
    ) throws(ServiceError) -> Int64 {
        guard let marker else { return 0 }
        let content = strings.content(of: marker, for: purpose)
        guard let id = content.flatMap({ Int64(String(decoding: $0, as: UTF8.self)) }) else {
            throw .invalid("the continuationMarker is not one that this list gave")
        }
        return id
    }

    static func account(named name: String, _ reader: StorageReader) throws -> AccountRow {
        guard let account = try Accounts.find(name, reader) else {
            throw ServiceError(
                .notFound, .unknownItem,
                "there is no account '\(Identifier.excerpt(name))': an account exists from its first request to the container"
                    + " on, so have it sign in once")
        }
        return account
    }

    private static func description(_ zone: ZoneRow, _ account: AccountRow) -> AccountZonesResponse.Zone? {
        ZoneRules.isDefault(zone.name) ? nil : .init(account: account.name, zoneName: zone.name)
    }

    /// A page of all accounts' zones, in order of creation.
    private static func zones(
        after marker: String?, _ strings: TokenCodec, _ reader: StorageReader
    ) throws -> AccountZonesResponse {
        let start = try position(marker, for: .accountZones, strings)
        let rows = try reader.zones(after: start, limit: Limits.zonesPerPage)
        let zones = try rows.compactMap { row in
            try reader.liveAccount(id: row.key.owner.rawValue).flatMap { description(row, $0) }
        }
        let isFull = rows.count == Limits.zonesPerPage
        let next = isFull ? rows.last.map { strings.text(Array("\($0.key.id)".utf8), for: .accountZones) } : nil
        return AccountZonesResponse(zones: zones, continuationMarker: next)
    }
}
