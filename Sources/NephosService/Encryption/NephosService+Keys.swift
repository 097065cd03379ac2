import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Keys of encrypted values

    /// The account's devices and what opens its keys (`keys/account`).
    package func accountKeys(
        _ request: AccountKeysRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountKeysResponse {
        try await perform(context) { store, caller in
            let keys = AccountKeys(account: try caller.requireAccount(), escrows: self.configuration.escrowsKeys)
            return try await store.engine.read { try keys.response($0) }
        }
    }

    /// Appends to the list of the account's devices (`keys/enroll`). Where another came first nothing is changed: the answer
    /// says what the list is.
    package func enroll(
        _ request: EnrollRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountKeysResponse {
        try await perform(context) { store, caller in
            let keys = AccountKeys(account: try caller.requireAccount(), escrows: self.configuration.escrowsKeys)
            try keys.check(request)
            return try await store.engine.write { transaction in
                try keys.append(request, in: transaction)
                return try keys.response(transaction)
            }
        }
    }

    /// The keys of a group and of records of its zone, as far as the caller may read them (`keys/lookup`).
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
            return try await store.engine.read { reader in
                guard let zone = try Self.zone(request.zoneID, caller, reader) else {
                    let address = caller.address(request.zoneID)
                    // The default zone, which always exists, is made by the first save.
                    if address.isOwn, ZoneRules.isDefault(address.zoneName) { return KeysResponse() }
                    throw try ZoneRegistry.notFound(address, owner: caller.owner, reader)
                }
                return try KeyLookup(caller: caller, zone: zone, reader: reader).response(request)
            }
        }
    }

    /// Gives a group its next key, wraps it for others, and keeps the keys of records that were wrapped under it
    /// (`keys/group`). Where another came first nothing is changed: the answer has the group's keys.
    package func putGroupKey(
        _ request: PutGroupKeyRequest, _ context: RequestContext
    ) async throws(ServiceError) -> KeysResponse {
        try await perform(context) { store, caller in
            let account = try caller.requireAccount()
            let address = caller.address(request.zoneID)
            return try await store.engine.write { transaction in
                var zone = try Self.zone(request.zoneID, caller, transaction)
                if zone == nil, address.isOwn, caller.scope == .private, ZoneRules.isDefault(address.zoneName) {
                    zone = FoundZone(row: try ZoneRegistry.defaultZone(owner: account.owner, in: transaction))
                }
                guard let zone else {
                    throw try ZoneRegistry.notFound(address, owner: caller.owner, transaction)
                }
                try KeyWriter(account: account, zone: zone, transaction: transaction).write(request)
                return try KeyLookup(caller: caller, zone: zone, reader: transaction).response(
                    LookupKeysRequest(zoneID: request.zoneID, group: request.group, wantsGroup: true))
            }
        }
    }

    /// A zone of the caller's private database, or one that is shared with it; nil where there is none.
    private static func zone(
        _ zoneID: ZoneIDDictionary?, _ caller: Caller, _ reader: any StorageReader
    ) throws -> FoundZone? {
        guard caller.scope != .public else {
            throw ServiceError.badDatabase("the public database has no keys of encrypted values")
        }
        return try ZoneRegistry.find(caller.address(zoneID), caller, reader)
    }
}

/// What the service keeps of an account's keys. It opens none of it.
struct AccountKeys {
    let account: AccountRow
    /// Whether it keeps for the account's devices what they share.
    let escrows: Bool

    private var zone: ZoneKey { ZoneKey(owner: account.owner, id: 0) }

    /// The list of an account's devices.
    static func entries(of account: AccountRow, _ reader: any StorageReader) throws -> [[UInt8]] {
        try reader.keys(zone: ZoneKey(owner: account.owner, id: 0), kind: .listEntry, subject: "").map(\.body)
    }

    func response(_ reader: any StorageReader) throws -> AccountKeysResponse {
        var response = AccountKeysResponse(
            escrows: escrows,
            escrow: escrows ? try reader.keys(zone: zone, kind: .escrow, subject: "").first?.body : nil,
            entries: try reader.keys(zone: zone, kind: .listEntry, subject: "").map(\.body),
            boxes: try reader.keys(zone: zone, kind: .accountKey).map { try AccountKeyBox(decoding: $0.body) })
        response.messages = try reader.keys(zone: zone, kind: .deviceMessage).map {
            try DeviceMessage(decoding: $0.body)
        }
        return response
    }

    func check(_ request: EnrollRequest) throws(ServiceError) {
        guard request.entry.count <= Limits.keyListEntrySize, !request.entry.isEmpty || request.message != nil,
            request.message.map(Self.hasForm) ?? true,
            request.boxes.count <= Limits.keyListLength, request.escrow?.count ?? 0 <= Limits.keyEscrowSize,
            request.boxes.allSatisfy({ $0.device.count == 32 && $0.box.count == Limits.groupKeyBoxSize })
        else { throw .invalid("the entry of the list of devices has not the form of one") }
        guard escrows || request.escrow == nil else {
            throw .invalid("this service keeps no keys for devices: it was started with --require-approval")
        }
    }

    private static func hasForm(_ message: DeviceMessage) -> Bool {
        message.id.count == DeviceMessage.idSize && message.request.count <= Limits.deviceMessageSize
            && message.reply.count <= Limits.deviceMessageSize
    }

    /// A reply is added to the request that it answers.
    private func put(_ message: DeviceMessage, in transaction: any StorageTransaction) throws {
        let stored = try transaction.keys(zone: zone, kind: .deviceMessage)
        let subject = Base64.text(message.id)
        var message = message
        if let known = try stored.first(where: { $0.subject == subject }).map({ try DeviceMessage(decoding: $0.body) })
        {
            if !known.request.isEmpty { message.request = known.request }
            if message.reply.isEmpty { message.reply = known.reply }
        } else if stored.count >= Limits.deviceMessages {
            // Requests that were not answered give way.
            for row in stored where try DeviceMessage(decoding: row.body).reply.isEmpty {
                try transaction.removeKey(zone: zone, kind: .deviceMessage, subject: row.subject, id: row.id)
            }
        }
        try transaction.put(KeyRow(zone: zone, kind: .deviceMessage, subject: subject, id: [], body: message.encoded()))
    }

    func append(_ request: EnrollRequest, in transaction: any StorageTransaction) throws {
        if request.entry.isEmpty {
            if let message = request.message { try put(message, in: transaction) }
            return
        }
        let count = Int64(try transaction.keys(zone: zone, kind: .listEntry, subject: "").count)
        guard request.position == count else { return }
        guard count < Limits.keyListLength else {
            throw ServiceError.limitExceeded("a list of devices has at most \(Limits.keyListLength) entries")
        }
        try transaction.put(KeyRow(zone: zone, kind: .listEntry, id: KeyRow.id(count), body: request.entry))
        if let message = request.message { try put(message, in: transaction) }
        for box in request.boxes {
            try transaction.put(
                KeyRow(
                    zone: zone, kind: .accountKey, subject: Base64.text(box.device), id: KeyRow.id(box.version),
                    body: box.encoded()))
        }
        if let escrow = request.escrow {
            try transaction.put(KeyRow(zone: zone, kind: .escrow, id: [], body: escrow))
        }
    }
}
