import NephosCrypto
import NephosStorage
import NephosWire

/// The key rows that the service stores for an account. The service cannot decrypt them.
struct AccountKeys {
    let place: KeyPlace
    /// Whether the service escrows the keys that the account's devices share.
    let escrows: Bool
    private let zone: ZoneKey
    private let account: AccountRow

    init(_ caller: Caller, escrows: Bool) throws(ServiceError) {
        let account = try caller.requireAccount()
        self.init(of: account, in: caller.keyPlace(of: account), escrows: escrows)
    }

    init(of account: AccountRow, in place: KeyPlace, escrows: Bool) {
        self.account = account
        self.place = place
        zone = Self.zone(of: account)
        self.escrows = escrows
    }

    /// The zone key of an account's own key rows.
    static func zone(of account: AccountRow) -> ZoneKey { ZoneKey(owner: account.owner, id: 0) }

    /// The encoded entries of an account's device list.
    static func entries(of account: AccountRow, _ reader: StorageReader) throws -> [[UInt8]] {
        try reader.keys(zone: zone(of: account), kind: .listEntry, subject: "").map(\.body)
    }

    /// An account's device list. The list's entries were checked before they were stored.
    static func list(
        of account: AccountRow, _ caller: Caller, _ reader: StorageReader
    ) throws -> DeviceList {
        let place = caller.keyPlace(of: account)
        guard let list = DeviceList(try entries(of: account, reader), in: place, areChecked: true) else {
            throw ServiceError.internalError
        }
        return list
    }

    func response(_ reader: StorageReader) throws -> AccountKeysResponse {
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
        guard request.escrow == nil || request.position == 0 else {
            throw .invalid("keys are handed over with the first entry of the list of devices")
        }
    }

    private static func hasForm(_ message: DeviceMessage) -> Bool {
        message.id.count == DeviceMessage.idSize && message.request.count <= Limits.deviceMessageSize
            && message.reply.count <= Limits.deviceMessageSize
    }

    /// Stores a message between devices. A reply is merged into the message that it answers.
    private func put(_ message: DeviceMessage, in transaction: StorageTransaction) throws {
        let stored = try transaction.keys(zone: zone, kind: .deviceMessage)
        let subject = Base64.text(message.id)
        var message = message
        if let known = try stored.first(where: { $0.subject == subject }).map({ try DeviceMessage(decoding: $0.body) })
        {
            if !known.request.isEmpty { message.request = known.request }
            if message.reply.isEmpty { message.reply = known.reply }
        } else if stored.count >= Limits.deviceMessages {
            // The messages are full: evict the unanswered requests, or all messages if every request is answered.
            let open = try stored.filter { try DeviceMessage(decoding: $0.body).reply.isEmpty }
            for row in open.isEmpty ? stored : open {
                try transaction.removeKey(zone: zone, kind: .deviceMessage, subject: row.subject, id: row.id)
            }
        }
        try transaction.put(KeyRow(zone: zone, kind: .deviceMessage, subject: subject, id: [], body: message.encoded()))
    }

    /// The result of a request to append an entry.
    struct Appended {
        /// Whether jobs were inserted that note shares.
        var notesShares = false
        /// Whether the list has the entry now and no recovery key.
        var lacksRecovery = false
        /// How a device was added; nil if none was.
        var event: DeviceNotice.Event?
    }

    func append(_ request: EnrollRequest, in transaction: StorageTransaction) throws -> Appended {
        if request.entry.isEmpty {
            if let message = request.message { try put(message, in: transaction) }
            return Appended()
        }
        let stored = try transaction.keys(zone: zone, kind: .listEntry, subject: "").map(\.body)
        guard request.position == stored.count else {
            if (0..<Int64(stored.count)).contains(request.position) { return Appended() }
            throw ServiceError.invalid("the list of devices has \(stored.count) entries, not \(request.position)")
        }
        guard request.position < Limits.keyListLength else {
            throw ServiceError.limitExceeded("a list of devices has at most \(Limits.keyListLength) entries")
        }
        guard var list = DeviceList(stored, in: place, areChecked: true) else { throw ServiceError.internalError }
        let event = event(of: request, list)
        let formerVersion = list.accountKeyVersion
        guard list.append(request.entry, in: place) else { throw refusal(of: request.entry, list) }
        try check(request.boxes, list, hasNewKey: list.accountKeyVersion > formerVersion && formerVersion > 0)
        try transaction.put(
            KeyRow(zone: zone, kind: .listEntry, id: KeyRow.id(request.position), body: request.entry))
        if let message = request.message { try put(message, in: transaction) }
        try replaceBoxes(request.boxes, list, in: transaction)
        var appended = Appended(lacksRecovery: list.recoveryKeys.isEmpty, event: event)
        let subjects = subjectsOfAttention(
            isFirst: request.position == 0, hasNewKey: list.accountKeyVersion > formerVersion)
        for subject in subjects { try transaction.insert(KeyAttentionJob(about: subject).row) }
        appended.notesShares = !subjects.isEmpty
        if let escrow = request.escrow {
            try transaction.put(KeyRow(zone: zone, kind: .escrow, id: [], body: escrow))
        }
        return appended
    }

    /// Returns the subjects of the jobs that note the shares whose keys could not be wrapped for the account before it
    /// had a device, or whose keys a revoked device has.
    private func subjectsOfAttention(isFirst: Bool, hasNewKey: Bool) -> [KeyAttentionJob.Subject] {
        if isFirst { return [.account(account.id)] }
        return hasNewKey ? [.revocation(account.id), .ownShares(account.id)] : []
    }

    private func refusal(of entry: [UInt8], _ list: DeviceList) -> ServiceError {
        if let entry = DeviceListEntry(entry, in: place), entry.change == .add,
            list.knowsSigner(entry.device.signing), !list.isListed(entry.device.signing)
        {
            return .invalid("the device was revoked, and comes back with new keys: 'nephos keys code' on it makes them")
        }
        return .invalid("the entry does not follow from the account's list of devices, or no device on it signed it")
    }

    /// How an entry adds a device; nil if it does not.
    /// - Parameter list: the list before the entry.
    private func event(of request: EnrollRequest, _ list: DeviceList) -> DeviceNotice.Event? {
        guard let entry = DeviceListEntry(request.entry, in: place), entry.change == .add else { return nil }
        if request.position == 0 { return .first }
        return list.recoveryKeys.contains { $0.signing == entry.author } ? .recovered : .approved
    }

    /// Checks that each box is for a listed device, and that a new account key has a box for each listed device.
    private func check(_ boxes: [AccountKeyBox], _ list: DeviceList, hasNewKey: Bool) throws(ServiceError) {
        let recipients = Set((list.devices + list.recoveryKeys).map(\.box))
        guard
            boxes.allSatisfy({
                recipients.contains($0.device) && (1...list.accountKeyVersion).contains($0.version)
            })
        else { throw .invalid("an account key is for a device that is not on the list, or of no version") }
        guard !hasNewKey else {
            let served = Set(boxes.filter { $0.version == list.accountKeyVersion }.map(\.device))
            guard served.isSuperset(of: recipients) else {
                throw .invalid("the account's next key is not there for every device that stays on the list")
            }
            return
        }
    }

    /// Stores boxes, and removes the boxes of devices that are no longer on the list.
    private func replaceBoxes(
        _ boxes: [AccountKeyBox], _ list: DeviceList, in transaction: StorageTransaction
    ) throws {
        let recipients = Set((list.devices + list.recoveryKeys).map { Base64.text($0.box) })
        var kept: Set<[UInt8]> = []
        for row in try transaction.keys(zone: zone, kind: .accountKey) {
            if recipients.contains(row.subject) {
                kept.insert(Array(row.subject.utf8) + row.id)
            } else {
                try transaction.removeKey(zone: zone, kind: .accountKey, subject: row.subject, id: row.id)
            }
        }
        kept.formUnion(boxes.map { Array(Base64.text($0.device).utf8) + KeyRow.id($0.version) })
        guard kept.count <= Limits.accountKeyBoxes else {
            throw ServiceError.limitExceeded(
                "an account keeps at most \(Limits.accountKeyBoxes) boxes with its keys, one for each version and device;"
                    + " revoke devices")
        }
        for box in boxes {
            try transaction.put(
                KeyRow(
                    zone: zone, kind: .accountKey, subject: Base64.text(box.device), id: KeyRow.id(box.version),
                    body: box.encoded()))
        }
    }
}

extension Caller {
    /// The key place of an account, which the account's devices include in signatures.
    func keyPlace(of account: AccountRow) -> KeyPlace {
        KeyPlace(container: storeID.container, environment: storeID.environment, owner: account.userRecordName)
    }
}
