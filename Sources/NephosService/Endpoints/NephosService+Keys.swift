import NephosCrypto
import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Keys of encrypted values

    /// Returns the account's device list and the boxes with the account's keys (`keys/account`).
    package func accountKeys(
        _ request: EmptyKeysRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountKeysResponse {
        try await perform(context, reads: true) { store, caller in
            let keys = try AccountKeys(caller, escrows: self.configuration.escrowsKeys)
            return try await store.read(by: caller) { try keys.response($0) }
        }
    }

    /// Appends an entry to the account's device list (`keys/enroll`). If another entry was appended first, nothing is
    /// changed, and the response has the current list.
    package func enroll(
        _ request: EnrollRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountKeysResponse {
        try await perform(context) { store, caller in
            let keys = try AccountKeys(caller, escrows: self.configuration.escrowsKeys)
            try keys.check(request)
            let (response, appended) = try await store.write(by: caller) { transaction in
                let appended = try keys.append(request, in: transaction)
                return (try keys.response(transaction), appended)
            }
            if appended.notesShares { store.background.wake() }
            if let event = appended.event, let note = self.configuration.noteDevice {
                await note(
                    DeviceNotice(event: event, account: context.account ?? "", container: context.container))
            }
            if appended.lacksRecovery, !self.configuration.escrowsKeys {
                self.environment.log(
                    "\(context.container), \(context.environment.rawValue): account \(keys.place.owner) has no recovery key: if"
                        + " its devices are lost, so are its encrypted values ('nephos keys recovery')")
            }
            return response
        }
    }

    /// Removes the account's device list and all the account's keys (`keys/reset`). Zones with encrypted values are
    /// deleted too, because their values can no longer be read.
    package func resetKeys(
        _ request: EmptyKeysRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountKeysResponse {
        try await perform(context) { store, caller in
            let keys = try AccountKeys(caller, escrows: self.configuration.escrowsKeys)
            let environment = self.environment
            let (response, leftEvents) = try await store.write(by: caller) { transaction in
                let reset = ResetKeys(
                    caller: caller, environment: environment,
                    indexes: IndexWriter(
                        definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts),
                    notifier: store.notifier)
                let leftEvents = try reset.apply(in: transaction)
                return (try keys.response(transaction), leftEvents)
            }
            if leftEvents { store.fanOut.wake() }
            if let owner = caller.owner { store.noteSaves([:], freed: [owner]) }
            store.background.wake()
            return response
        }
    }

    /// Returns the keys of a group and of records of the group's zone, as far as the caller may read them
    /// (`keys/lookup`).
    package func lookupKeys(
        _ request: LookupKeysRequest, _ context: RequestContext
    ) async throws(ServiceError) -> KeysResponse {
        try await perform(context) { store, caller in
            _ = try caller.requireAccount()
            let names = request.recordNames.count + request.missingBelow.count
            guard names <= Limits.operationsPerRequest else {
                throw ServiceError.limitExceeded(
                    "number of records exceeds the limit of \(Limits.operationsPerRequest)")
            }
            let (response, missing) = try await store.read(by: caller) { reader -> (KeysResponse, ShareRow?) in
                guard let zone = try Self.zone(request.zoneID, caller, reader) else {
                    let address = caller.address(request.zoneID)
                    // For clients the default zone always exists; the first save creates its row.
                    if address.isOwn, ZoneRules.isDefault(address.zoneName) { return (KeysResponse(), nil) }
                    throw try ZoneRegistry.notFound(address, caller, .toRead, reader)
                }
                let lookup = KeyLookup(caller: caller, zone: zone, reader: reader)
                return (try lookup.response(request), try lookup.shareWithoutKey(request))
            }
            if let missing { try await self.noteKeyAttention(missing, caller, store) }
            return response
        }
    }

    private func noteKeyAttention(_ share: ShareRow, _ caller: Caller, _ store: Store) async throws {
        let environment = self.environment
        let account = try caller.requireAccount().id
        let leftEvents = try await store.write(by: caller) { transaction in
            let indexes = IndexWriter(
                definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts)
            return try KeyAttention.note(
                share: share.id, by: account, caller.origin, indexes, store.notifier, now: environment.now(),
                in: transaction)
        }
        if leftEvents { store.fanOut.wake() }
        store.background.wake()
    }

    /// Stores a group's next key, the boxes of that key for other accounts, and the record keys wrapped under it
    /// (`keys/group`). If another key was stored first, nothing is changed, and the response has the group's keys.
    package func putGroupKey(
        _ request: PutGroupKeyRequest, _ context: RequestContext
    ) async throws(ServiceError) -> KeysResponse {
        try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            let address = caller.address(request.zoneID)
            let now = self.environment.now()
            try Self.checkQuota(request, account, store)
            let (response, leftEvents) = try await store.write(by: caller) { transaction in
                var zone = try Self.zone(request.zoneID, caller, transaction)
                if zone == nil, address.isOwn, caller.scope == .private, ZoneRules.isDefault(address.zoneName) {
                    zone = FoundZone(row: try ZoneRegistry.defaultZone(owner: account.owner, in: transaction))
                }
                guard let zone else {
                    throw try ZoneRegistry.notFound(address, caller, .toSave, transaction)
                }
                let changes = SharedChanges(store.notifier.watched)
                let writer = KeyWriter(caller, account, zone, changes, transaction)
                try writer.write(request)
                var leftEvents = false
                if request.key != nil, let share = try writer.shareWithMembersLeftOut(of: request.group) {
                    // Note the share even if it is already noted: a library that settles the earlier note does not know
                    // of these members.
                    try GroupState.note(share, endsAccess: false, in: transaction)
                    let indexes = IndexWriter(
                        definitions: try store.indexes.definitions(in: transaction), accounts: store.accounts)
                    leftEvents = try ShareMembers.tell(
                        share, in: zone.row, by: account.id, nil, indexes, store.notifier, now: now, in: transaction)
                }
                _ = try changes.leaveJobs(zone: zone.key, by: caller.origin, in: transaction)
                let response = try KeyLookup(caller: caller, zone: zone, reader: transaction).response(
                    LookupKeysRequest(zoneID: request.zoneID, group: request.group, wantsGroup: true))
                return (response, leftEvents)
            }
            if address.isOwn { store.noteSaves([account.owner: RecordQuota.size(of: request)]) }
            if leftEvents { store.fanOut.wake() }
            store.background.wake()
            return response
        }
    }

    /// Refuses keys of records, which only the owner brings, in a database without quota left. A group's next key is taken: a
    /// participant may have to be locked out.
    private static func checkQuota(
        _ request: PutGroupKeyRequest, _ account: AccountRow, _ store: Store
    ) throws(ServiceError) {
        guard !request.records.isEmpty, let refusal = store.quota.refusal(of: account.owner) else { return }
        store.noteSaves([:], full: [account.owner])
        throw refusal
    }

    /// Finds a zone of the caller's private database, or a zone that is shared with the caller; nil if there is none.
    private static func zone(
        _ zoneID: ZoneIDDictionary?, _ caller: Caller, _ reader: StorageReader
    ) throws -> FoundZone? {
        guard caller.scope != .public else {
            throw ServiceError.badDatabase("the public database has no keys of encrypted values")
        }
        return try ZoneRegistry.find(caller.address(zoneID), caller, reader)
    }
}
