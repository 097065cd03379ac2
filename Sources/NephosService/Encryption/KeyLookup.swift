import NephosStorage
import NephosWire

/// The response to `keys/lookup`. The zone's owner gets all keys. A participant gets the group keys of its shares that
/// are wrapped for its account, and the keys of the records that it may read. An administrator also gets the members
/// that lack a share's key.
struct KeyLookup {
    let caller: Caller
    let zone: FoundZone
    let reader: StorageReader

    func response(_ request: LookupKeysRequest) throws -> KeysResponse {
        var response = KeysResponse()
        response.isPerZone = try PerZone.isSet(zone.key, reader)
        let group = request.group
        let standing = KeyStanding(zone, group)
        if request.wantsGroup, mayRead(group) { try addGroup(group, standing, to: &response) }
        // A name that the request repeats has one result.
        var seen: Set<String> = []
        response.records = try request.recordNames.compactMap { seen.insert($0).inserted ? try record($0) : nil }
        guard standing.handsKeysOver else { return response }
        let state = try GroupState.read(group, zone.key, reader)
        response.attention = state.attention
        response.isStale = state.stale > 0 && state.stale == response.group.last?.version
        if request.wantsGroup { try addParticipants(group, to: &response) }
        if request.wantsMembers, let share = try share(of: group) {
            response.isShared = true
            response.wantsLink = try response.link?.key.isEmpty == true && OpenInvitations.exist(in: share, reader)
            response.members = try members(of: share, response.group.last?.version ?? 0)
        }
        guard standing == .owner else { return response }
        if request.wantsMembers { response.hasLeft = try FormerKeys.isAnyNoted(zone.key, reader) }
        if request.wantsLeft {
            for row in try reader.keys(zone: zone.key, kind: .leftRecord) where !response.hasMore {
                try addIfMissing(row.subject, group, to: &response)
            }
        }
        if !request.missingBelow.isEmpty { try addMissing(below: request.missingBelow, group, to: &response) }
        return response
    }

    /// The share whose current key the caller's devices lack; nil if they have it or the share's owner was already
    /// notified.
    func shareWithoutKey(_ request: LookupKeysRequest) throws -> ShareRow? {
        guard request.wantsGroup, let account = caller.account,
            let part = zone.shared?.participations.first(where: {
                StoredGroupKeys.group(of: $0.share) == request.group
            }), try GroupState.read(request.group, zone.key, reader).attention == 0,
            try KeyAttention.lacksKey(account, part.share, AccountKeys.list(of: account, caller, reader), reader)
        else { return nil }
        return part.share
    }

    private func addGroup(_ group: String, _ standing: KeyStanding, to response: inout KeysResponse) throws {
        response.group = try StoredGroupKeys.all(of: group, zone.key, reader)
        response.signers = try StoredGroupKeys.signers(of: group, zone.key, reader)
        response.link = try StoredGroupKeys.link(of: group, zone.key, reader)
        let links = try StoredGroupKeys.oneTimeLinks(of: group, zone.key, reader)
        if let shared = zone.shared, let account = caller.account {
            response.boxes = try StoredGroupKeys.boxes(for: account.id, of: group, zone.key, reader)
            response.ownerEntries = try AccountKeys.entries(of: shared.owner, reader)
            // A participant gets only the one-time link of its own invitation, until the link is used.
            let own = try shared.participations.first { StoredGroupKeys.group(of: $0.share) == group }.flatMap {
                try reader.participant(share: $0.share.id, account: account.id)?.id
            }
            response.oneTimeLinks = links.filter { standing.handsKeysOver || $0.participantID == own }
        } else {
            response.oneTimeLinks = links
        }
    }

    private func mayRead(_ group: String) -> Bool {
        guard let shared = zone.shared else { return true }
        // With a zone-wide share, the records of a deleted share belong to the zone again, and keep their keys under
        // that share.
        return shared.zoneWide != nil || shared.participations.contains { $0.share.name == group }
    }

    private func record(_ name: String) throws -> KeysResponse.Record? {
        guard try zone.mayRead(name, reader) else { return nil }
        let rows = try reader.keys(zone: zone.key, kind: .recordKey, subject: name)
        if rows.isEmpty { return nil }
        let keys = try rows.map { try WrappedRecordKey(decoding: $0.body) }
        return KeysResponse.Record(recordName: name, keys: keys.filter { mayRead($0.group) })
    }

    // MARK: Responses to owners and administrators

    private func share(of group: String) throws -> ShareRow? {
        let share = try reader.share(zone: zone.key, named: group.isEmpty ? SystemRecordName.zoneWideShare : group)
        return share.flatMap { $0.isLive ? $0 : nil }
    }

    private func members(of share: ShareRow, _ version: Int64) throws -> [KeysResponse.Member] {
        let boxes = try reader.keys(zone: zone.key, kind: .groupBox, subject: StoredGroupKeys.group(of: share))
        var members: [KeysResponse.Member] = []
        // Participants control the sizes of their device lists, so the total size is bounded.
        var room = Limits.keyListsSize
        for row in try reader.participants(share: share.id)
        where row.isParticipant && row.permission(in: share) != .none {
            var member = KeysResponse.Member(userRecordName: "", entries: [], recipient: [])
            (member.participantID, member.joinedByURL) = (row.id, row.joinedByURL)
            if !row.oneTimeGUID.isEmpty, !row.hasAccepted { member.oneTimeID = row.id }
            if let account = try row.invitedAccount(reader) {
                member.userRecordName = account.userRecordName
                member.entries = room > 0 ? try AccountKeys.entries(of: account, reader) : []
                room -= member.entries.reduce(0) { $0 + $1.count }
                member.isAdministrator = row.role == ParticipantRole.administrator.number
                let box = boxes.first { $0.id == KeyRow.id(version) + KeyRow.id(account.id) }
                member.recipient = try box.map { try WrappedGroupKey(decoding: $0.body).recipient } ?? []
            }
            members.append(member)
        }
        return members
    }

    private func addParticipants(_ group: String, to response: inout KeysResponse) throws {
        // The list of a share that ended stays: that of a new one of its name has the next number.
        response.participants = try StoredParticipants.list(of: group, zone.key, reader)
        response.unsigned = try StoredParticipants.unsigned(of: group, zone.key, reader).sorted()
        response.isOpen = try share(of: group).map { $0.openPermission != .none } ?? false
    }

    /// Adds a record to the response if one of its keys is not wrapped for the group.
    private func addIfMissing(
        _ name: String, rows known: [KeyRow]? = nil, _ group: String, to response: inout KeysResponse
    ) throws {
        let rows = try known ?? reader.keys(zone: zone.key, kind: .recordKey, subject: name)
        let keys = try rows.map { try WrappedRecordKey(decoding: $0.body) }
        let wrapped = Set(keys.filter { $0.group == group }.map(\.id))
        if keys.allSatisfy({ wrapped.contains($0.id) }) { return }
        if response.records.count == Limits.recordsToWrap {
            response.hasMore = true
            return
        }
        response.records.append(KeysResponse.Record(recordName: name, keys: keys))
    }

    /// Adds the records with keys that are not wrapped for the group, among the named records and their descendants. An
    /// empty name stands for the whole zone.
    private func addMissing(below names: [String], _ group: String, to response: inout KeysResponse) throws {
        if names.contains("") {
            let rows = Dictionary(grouping: try reader.keys(zone: zone.key, kind: .recordKey), by: \.subject)
            for (name, rows) in rows { try addIfMissing(name, rows: rows, group, to: &response) }
            return
        }
        var waiting = names
        var seen = Set(names)
        while let name = waiting.popLast(), !response.hasMore {
            try addIfMissing(name, group, to: &response)
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
