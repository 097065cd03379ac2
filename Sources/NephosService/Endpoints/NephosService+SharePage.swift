import NephosStorage
package import NephosWire

/// The content of the page that an account sees at a share's URL.
package struct SharePage: Sendable {
    package var containerIdentifier: String
    /// The share's title, as the share's owner wrote it; nil if the share has no title.
    package var title: String?
    /// The name of the owner's account; nil if the name is an address, which not every viewer of the share may see.
    package var owner: String?
    package var isOwner: Bool
    package var hasAccepted: Bool
    package var permission: SharePermission
    /// The token that a request to accept the share must return, so that no other page can forge the request.
    package var token: String
}

extension NephosService {
    /// Returns the page of the share whose URL ends in `guid`, in any container; nil if there is no such share or the
    /// account may not see it.
    package func sharePage(
        _ guid: String, account name: String, address: String? = nil, requestID: String
    ) async throws(ServiceError) -> SharePage? {
        guard let store = try await store(ofShare: guid, requestID) else { return nil }
        let context = pageContext(store, name, address, requestID)
        return try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            return try await store.read(by: caller) { reader in
                let resolve = ResolveShare(
                    caller: caller, account: account, container: context.container,
                    containerEnvironment: context.environment, accounts: store.accounts, reader: reader)
                guard let found = try? resolve.find(guid),
                    let owner = try reader.account(id: found.share.zone.owner.rawValue)
                else { return nil }
                let isOwner = owner.id == account.id
                return SharePage(
                    containerIdentifier: context.container, title: try Self.title(found.share, reader),
                    owner: ShareDetails.givenName(owner.name), isOwner: isOwner,
                    hasAccepted: isOwner || found.row?.hasAccepted == true,
                    permission: found.row?.permission(in: found.share)
                        ?? (isOwner ? .readWrite : found.share.openPermission),
                    token: caller.tokenCodec.text([], for: .shareAcceptance, of: Array(guid.utf8)))
            }
        }
    }

    /// Accepts a share on the share's page.
    /// - Returns: whether the share was accepted; false if the token is not the token of the account's page.
    package func acceptShare(
        _ guid: String, account name: String, address: String? = nil, token: String, requestID: String
    ) async throws(ServiceError) -> Bool {
        guard let store = try await store(ofShare: guid, requestID) else { return false }
        let context = pageContext(store, name, address, requestID)
        let isGenuine = try await perform(context) { _, caller in
            caller.tokenCodec.content(of: token, for: .shareAcceptance, of: Array(guid.utf8)) != nil
        }
        guard isGenuine else { return false }
        let response = try await acceptShares(ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), context)
        if case .info? = response.results.first { return true }
        return false
    }

    /// - Parameter address: the address to which invitations of the account go; nil where that is its name.
    private func pageContext(
        _ store: StoreID, _ account: String, _ address: String?, _ requestID: String
    ) -> RequestContext {
        var context = RequestContext(
            container: store.container,
            environment: ContainerEnvironment(rawValue: store.environment) ?? .development, scope: .public,
            account: account, requestID: requestID)
        context.address = address
        return context
    }

    /// Finds the store of a share by the routing key at the start of the GUID, because the URL names no container; nil
    /// if no store has the share.
    func store(ofShare guid: String, _ requestID: String) async throws(ServiceError) -> StoreID? {
        guard guid.isStorable else { return nil }
        do {
            let known = try await stores.known().filter { guid.hasPrefix(ShortGUID.routingKey($0)) }
            for id in known.sorted(by: { ($0.container, $0.environment) < ($1.container, $1.environment) }) {
                let isThere = try await stores.using(id) { store in
                    try await store.engine.read {
                        try $0.share(guid: guid) != nil || $0.participant(oneTimeGUID: guid) != nil
                    }
                }
                if isThere { return id }
            }
            return nil
        } catch {
            throw translate(error, requestID: requestID)
        }
    }

    static func title(_ share: ShareRow, _ reader: StorageReader) throws -> String? {
        guard let record = try reader.record(zone: share.zone, named: share.name), !record.isDeleted,
            let fields = try? EncodedFields(bytes: record.fields).decoded(),
            case .string(let title)? = fields["cloudkit.title"]?.value
        else { return nil }
        return title
    }
}
