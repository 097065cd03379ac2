import NephosStorage
import NephosWire

/// What `keys/lookup` answers: the owner has everything; a participant has the keys of the groups of its shares, as far as
/// they are wrapped for it, and those of the records that it may read.
struct KeyLookup {
    let caller: Caller
    let zone: FoundZone
    let reader: any StorageReader

    func response(_ request: LookupKeysRequest) throws -> KeysResponse {
        var response = KeysResponse()
        let group = request.group
        if request.wantsGroup, mayRead(group) {
            response.group = try GroupKeys.all(of: group, zone.key, reader)
            response.link = try GroupKeys.link(of: group, zone.key, reader)
            if let shared = zone.shared, let account = caller.account {
                response.boxes = try GroupKeys.boxes(for: account.id, of: group, zone.key, reader)
                response.ownerEntries = try AccountKeys.entries(of: shared.owner, reader)
            }
        }
        response.records = try request.recordNames.compactMap { try record($0) }
        guard zone.shared == nil else { return response }
        let state = try GroupState.read(group, zone.key, reader)
        response.attention = state.attention
        response.isStale = state.stale > 0 && state.stale == response.group.last?.version
        if request.wantsMembers { response.members = try members(of: group, response.group.last?.version ?? 0) }
        if !request.missingBelow.isEmpty { try addMissing(below: request.missingBelow, group, to: &response) }
        return response
    }

    private func mayRead(_ group: String) -> Bool {
        guard let shared = zone.shared else { return true }
        // What is under a share that ended is part of the zone again, with the keys that it has.
        return shared.zoneWide != nil || shared.participations.contains { $0.share.name == group }
    }

    private func record(_ name: String) throws -> KeysResponse.Record? {
        guard try zone.mayRead(name, reader) else { return nil }
        let rows = try reader.keys(zone: zone.key, kind: .recordKey, subject: name)
        if rows.isEmpty { return nil }
        let keys = try rows.map { try WrappedRecordKey(decoding: $0.body) }
        return KeysResponse.Record(recordName: name, keys: keys.filter { mayRead($0.group) })
    }

    // MARK: For the owner

    private func members(of group: String, _ version: Int64) throws -> [KeysResponse.Member] {
        guard
            let share = try reader.share(zone: zone.key, named: group.isEmpty ? SystemRecordName.zoneWideShare : group),
            share.isLive
        else { return [] }
        let boxes = try reader.keys(zone: zone.key, kind: .groupBox, subject: group)
        var members: [KeysResponse.Member] = []
        for row in try reader.participants(share: share.id) where row.isParticipant {
            let known = row.account != 0 ? try reader.account(id: row.account) : nil
            guard let account = try known ?? (row.address.isEmpty ? nil : reader.account(named: row.address)) else {
                continue
            }
            let entries = try AccountKeys.entries(of: account, reader)
            if entries.isEmpty { continue }
            let box = boxes.first { $0.id == KeyRow.id(version) + KeyRow.id(account.id) }
            members.append(
                KeysResponse.Member(
                    userRecordName: account.userRecordName, entries: entries,
                    recipient: try box.map { try WrappedGroupKey(decoding: $0.body).recipient } ?? []))
        }
        return members
    }

    /// Adds records that have a key which is not wrapped for the group: those of the names and what is below them; of the whole
    /// zone where a name is empty.
    private func addMissing(below names: [String], _ group: String, to response: inout KeysResponse) throws {
        func add(_ name: String, _ rows: [KeyRow]) throws {
            let keys = try rows.map { try WrappedRecordKey(decoding: $0.body) }
            let wrapped = Set(keys.filter { $0.group == group }.map(\.id))
            if keys.allSatisfy({ wrapped.contains($0.id) }) { return }
            if response.records.count == Limits.recordsToWrap {
                response.hasMore = true
                return
            }
            response.records.append(KeysResponse.Record(recordName: name, keys: keys))
        }
        if names.contains("") {
            let rows = Dictionary(grouping: try reader.keys(zone: zone.key, kind: .recordKey), by: \.subject)
            for (name, rows) in rows { try add(name, rows) }
            return
        }
        var waiting = names
        var seen = Set(names)
        while let name = waiting.popLast(), !response.hasMore {
            try add(name, try reader.keys(zone: zone.key, kind: .recordKey, subject: name))
            var last: String?
            while true {
                let page = try reader.references(
                    zone: zone.key, to: name, kinds: [.parent], after: last, limit: Limits.referencesPerRead)
                for source in page.map(\.source) where seen.insert(source).inserted { waiting.append(source) }
                guard page.count == Limits.referencesPerRead else { break }
                last = page.last?.source
            }
        }
    }
}

/// Keeps what `keys/group` brings: from the owner everything, from a participant the group's key for its own account.
struct KeyWriter {
    let account: AccountRow
    let zone: FoundZone
    let transaction: any StorageTransaction

    func write(_ request: PutGroupKeyRequest) throws {
        try check(request)
        let group = request.group
        var current = try GroupKeys.currentVersion(of: group, zone.key, transaction)
        if let key = request.key {
            guard key.version == current + 1 else { return }
            guard current < Limits.groupKeyVersions else {
                throw ServiceError.limitExceeded("a group has at most \(Limits.groupKeyVersions) keys")
            }
            try transaction.put(GroupKeys.row(key, of: group, zone.key))
            current = key.version
        }
        if current == 0 { return }
        for box in request.boxes where box.key.version == current {
            guard let recipient = try recipient(of: box), recipient.id != zone.key.owner.rawValue else { continue }
            try transaction.put(GroupKeys.box(box.key, for: recipient.id, of: group, zone.key))
        }
        if let link = request.link, link.version == current {
            try transaction.put(KeyRow(zone: zone.key, kind: .link, subject: group, id: [], body: link.encoded()))
        }
        for record in request.records {
            for key in record.keys where key.version == current { try wrap(key, of: record.recordName) }
        }
        guard let settled = request.settled else { return }
        var state = try GroupState.read(group, zone.key, transaction)
        if state.attention == settled, state.stale != current {
            state.attention = 0
            try state.write(group, zone.key, in: transaction)
        }
    }

    private func recipient(of box: GroupBox) throws -> AccountRow? {
        if box.userRecordName.isEmpty { return account }
        return try transaction.account(userRecordName: box.userRecordName)
    }

    /// Keeps a record's key for the group, where the record has that key and it is not wrapped for it yet.
    private func wrap(_ key: WrappedRecordKey, of name: String) throws {
        let rows = try transaction.keys(zone: zone.key, kind: .recordKey, subject: name)
        let row = key.row(zone: zone.key, recordName: name)
        guard rows.contains(where: { $0.id.prefix(WrappedRecordKey.idSize).elementsEqual(key.id) }),
            !rows.contains(where: { $0.id == row.id }), rows.count < 4 * Limits.keysPerRecord
        else { return }
        try transaction.put(row)
    }

    private func check(_ request: PutGroupKeyRequest) throws {
        if let shared = zone.shared {
            guard request.key == nil, request.link == nil, request.records.isEmpty, request.settled == nil,
                request.boxes.allSatisfy(\.userRecordName.isEmpty), request.boxes.count <= 1,
                shared.participations.contains(where: { GroupKeys.group(of: $0.share) == request.group })
            else { throw ServiceError.shareRefusal("only the owner of records gives them keys") }
        }
        guard request.boxes.count <= Limits.shareParticipants, request.records.count <= Limits.recordsToWrap,
            request.group.utf8.count <= Limits.recordNameLength
        else { throw ServiceError.limitExceeded("keys/group brings too much at once") }
        if let key = request.key {
            guard key.hasForm(previous: key.version == 1 ? 0 : Limits.wrappedGroupKeySize) else {
                throw ServiceError.invalid("the zone's key has not the form of one")
            }
        }
        guard request.boxes.allSatisfy({ $0.key.hasForm(previous: 0) }),
            request.records.allSatisfy({
                $0.keys.allSatisfy { $0.hasForm && $0.isInherited && $0.group == request.group }
            }),
            request.link.map({
                $0.key.count == Limits.wrappedGroupKeySize && $0.secret.count == Limits.wrappedLinkSize
            }) ?? true
        else { throw ServiceError.invalid("a key has not the form of one") }
    }
}

extension WrappedGroupKey {
    fileprivate func hasForm(previous: Int) -> Bool {
        recipient.count == 32 && box.count == Limits.groupKeyBoxSize && signer.count == 32 && signature.count == 64
            && self.previous.count == previous
    }
}
