import Foundation
import NephosCrypto
import NephosWire

/// Rotation and delivery of group keys. The owner of a share does both. An administrator does both as far as the
/// owner's devices named the administrator.
extension KeyRing {
    /// Brings the keys of a group up to date. It makes a key, or rotates the key after a participant has left. It
    /// delivers the key to participants and invited accounts that have keys, and adds secrets to the group's URLs. For
    /// the owner, it also wraps the keys of records under the group's key.
    /// - Parameter roots: the names of records whose keys are to be wrapped, with the keys of all records below them.
    ///   The empty name stands for all records of the zone.
    /// - Parameter accepted: the user record name of an account that a person has accepted; nil for none.
    func rotateAndDistributeKeys(
        _ name: GroupName, roots: [String], accepted: String? = nil
    ) async throws(KeyFailure) {
        var (wrapsRecords, hasLeft) = (false, false)
        var settled: Int64?
        for attempt in 1...Self.rotationAttempts {
            let answer = try await lookup(
                LookupKeysRequest(
                    zoneID: name.zone.zoneID, group: name.group, wantsGroup: true, wantsMembers: true,
                    missingBelow: roots), name.zone)
            let keys = try await opened(answer, name)
            let device = try await device()
            let isShared = answer.isShared || !name.group.isEmpty || roots == [""]
            (wrapsRecords, hasLeft) = (!answer.records.isEmpty, answer.hasLeft)
            let coverage = coverage(
                answer, keys, isOwn: name.zone.owner == nil, accepted: accepted, device)
            guard var request = try request(name, answer, keys, coverage, isShared: isShared, device) else { break }
            if wrapsRecords || hasLeft {
                // The group is reported as up to date only once the keys of the records are wrapped.
                settled = request.settled
                request.settled = nil
            }
            if request.isEmpty { break }
            let after: KeysResponse
            do throws(KeyFailure) {
                after = try await put(request, name.zone)
            } catch {
                guard case .service(.refused) = error, attempt == 1 else { throw error }
                continue
            }
            _ = try await opened(after, name)
            // If another device has stored its key first, this device continues with that key.
            if request.key == nil || after.group.last == request.key,
                request.participants == nil || after.participants == request.participants
            {
                for box in request.boxes {
                    device.kept?.endWaiting(KeptKeys.WaitingGroup(name), of: box.userRecordName)
                }
                break
            }
        }
        if wrapsRecords { try await wrapKeys(below: roots, for: name) }
        if hasLeft { try await wrapKeysOfLeft(in: name.zone) }
        if let settled {
            _ = try await put(
                PutGroupKeyRequest(zoneID: name.zone.zoneID, group: name.group, settled: settled), name.zone)
        }
    }

    private static let rotationAttempts = 4

    /// Returns the request to the service; nil if there is nothing to send.
    private func request(
        _ name: GroupName, _ answer: KeysResponse, _ keys: GroupKeys, _ coverage: Coverage, isShared: Bool,
        _ device: DeviceIdentity
    ) throws(KeyFailure) -> PutGroupKeyRequest? {
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        let owner = try owner(of: name.zone, answer, device)
        let lists = listsOfMembers(name, answer, coverage, device)
        let isWaiting = answer.members.contains { !$0.entries.isEmpty && lists[$0.userRecordName] == nil }
        var request = PutGroupKeyRequest(
            zoneID: name.zone.zoneID, group: name.group,
            settled: answer.attention == 0 || isWaiting ? nil : answer.attention)
        let administrators = Set(
            answer.members.filter(\.isAdministrator).compactMap { lists[$0.userRecordName]?.hashes.first })
        let isOwn = name.zone.owner == nil
        var (key, version) = (keys.currentKey, keys.current)
        let namesOthers = isOwn && answer.isShared && administrators != keys.administrators
        if namesOthers, !answer.isStale, let last = answer.group.last, !isHandedOut(answer, name),
            let again = keys.signedAnew(last, for: place, device, administrators: administrators)
        {
            request.key = again
        } else if keys.isEmpty || answer.isStale || isOld(keys, name, device) || namesOthers {
            guard
                let next = keys.next(
                    for: place, device, recipient: owner.accountKey, administrators: isOwn ? administrators : [])
            else { throw .invalid("the account has not the present key") }
            request.key = next.wrapped
            (key, version) = (next.key, next.wrapped.version)
        }
        guard let key else { throw .invalid("the account has not the present key") }
        for member in answer.members {
            guard let list = lists[member.userRecordName], request.key != nil || member.recipient != list.accountKey,
                let box = GroupKeys.box(key, version: version, for: list.accountKey, of: place, by: device)
            else { continue }
            request.boxes.append(GroupBox(userRecordName: member.userRecordName, key: box))
        }
        if answer.isShared {
            request.participants = nextList(
                coverage, keys, first: request.key, isOwn: isOwn, ownersAccountKey: owner.accountKey, place, device)
        }
        if isShared, let identity = owner.hashes.first {
            addLinks(to: &request, answer, coverage, keys, key, version, place, identity)
        }
        return request.isEmpty ? nil : request
    }

    /// Returns the lists of devices of the members that get the key. An unsigned member, or one whose list differs from
    /// the pinned list, waits for a person's decision. The other members do not wait.
    private func listsOfMembers(
        _ name: GroupName, _ answer: KeysResponse, _ coverage: Coverage, _ device: DeviceIdentity
    ) -> [String: DeviceList] {
        var lists: [String: DeviceList] = [:]
        for member in answer.members where !member.entries.isEmpty {
            guard coverage.covers(member) else {
                noteUnsigned(member, of: name, device)
                continue
            }
            do throws(KeyFailure) {
                lists[member.userRecordName] = try list(of: member.userRecordName, member.entries, device)
            } catch {
                note(name, waitsFor: member.userRecordName, device)
            }
        }
        return lists
    }

    /// Whether another account has the key of a group. If so, only the next version of the key names other
    /// administrators.
    private func isHandedOut(_ answer: KeysResponse, _ name: GroupName) -> Bool {
        name.group.isEmpty || answer.members.contains { !$0.recipient.isEmpty }
    }

    /// Adds secrets to URLs that have none under this version of the key. If an account may join by an existing link,
    /// the key is wrapped under the secret of that link too.
    private func addLinks(
        to request: inout PutGroupKeyRequest, _ answer: KeysResponse, _ coverage: Coverage, _ keys: GroupKeys,
        _ key: SealKey, _ version: Int64, _ place: GroupPlace, _ identity: [UInt8]
    ) {
        let covered = answer.members.filter(coverage.covers)
        let wantsLink = answer.wantsLink && (coverage.isOpen || covered.contains(where: \.recipient.isEmpty))
        if answer.link?.version != version || wantsLink {
            let known = answer.link.flatMap { $0.version == version ? ShareLink($0, keys, of: place) : nil }
            let link = known ?? ShareLink(secret: .random(), owner: identity)
            request.link = link.wrapped(key, version: version, of: place)
        }
        let present = Set(answer.oneTimeLinks.filter { $0.link.version == version }.map(\.participantID))
        for id in covered.compactMap(\.oneTimeID) where !present.contains(id) {
            let link = ShareLink(secret: .random(), owner: identity)
            request.oneTimeLinks.append(
                OneTimeLink(
                    participantID: id, link: link.wrapped(key, version: version, of: place, participant: id)))
        }
    }

    /// Wraps the keys of records under the key of a group.
    private func wrapKeys(below roots: [String], for name: GroupName) async throws(KeyFailure) {
        try await wrapKeys(
            LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: false, missingBelow: roots),
            name)
    }

    /// Wraps the keys of records that left a share under the key of the zone, if only the share's key wraps them so
    /// far.
    private func wrapKeysOfLeft(in zone: KeyZone) async throws(KeyFailure) {
        let name = GroupName(zone: zone, group: "")
        _ = try await keys(of: name, making: true)
        var request = LookupKeysRequest(zoneID: zone.zoneID, wantsGroup: false)
        request.wantsLeft = true
        try await wrapKeys(request, name)
    }

    /// Wraps the keys of the records that the service returns, page by page. Begins again if another device rotates the
    /// group's key meanwhile: the service ignores keys under a former version.
    private func wrapKeys(_ request: LookupKeysRequest, _ name: GroupName) async throws(KeyFailure) {
        let place = GroupPlace(zone: place(of: name.zone, try await device()), group: name.group)
        var former: Set<String> = []
        var rotations = 0
        while true {
            let answer = try await lookup(request, name.zone)
            if answer.records.isEmpty { return }
            let names = Dictionary(answer.records.map { ($0.recordName, Set<[UInt8]>()) }) { $1 }
            let known = try await keys(ofRecords: names, in: name.zone).keys
            let (_, group) = try await keys(of: name, making: false)
            guard let key = group.currentKey else { throw .invalid("the account has not the present key") }
            let records = answer.records.compactMap { record -> KeysResponse.Record? in
                let there = Set(record.keys.filter { $0.group == name.group }.map(\.id))
                let missing = (known[record.recordName] ?? []).map(\.key).filter { !there.contains($0.id) }
                return wrapped(missing, of: record.recordName, under: key, group, place)
            }
            // A key that cannot be opened cannot be wrapped either. Participants then fail to open it, as the owner
            // does.
            if records.isEmpty { return }
            let after = try await put(
                PutGroupKeyRequest(zoneID: name.zone.zoneID, group: name.group, records: records), name.zone)
            if let last = after.group.last, last.version != group.current {
                rotations += 1
                guard rotations < Self.rotationAttempts else { throw .keysAreChanging }
                _ = try await opened(after, name)
                former = []
                continue
            }
            // A page that the service returns unchanged would come again for ever.
            let page = Set(records.map(\.recordName))
            if !answer.hasMore || page == former { return }
            former = page
        }
    }

    /// Returns the keys of a record as the group's current key wraps them; nil if there is none.
    private func wrapped(
        _ keys: [RecordKey], of recordName: String, under current: SealKey, _ group: GroupKeys, _ place: GroupPlace
    ) -> KeysResponse.Record? {
        var wrapped: [[UInt8]: WrappedRecordKey] = [:]
        for key in keys {
            var box = key.wrapped(
                under: current, version: group.current, recordName: recordName, in: place, isInherited: true)
            box.groupKeyID = group.ids[group.current] ?? []
            wrapped[key.id] = box
        }
        return wrapped.isEmpty ? nil : KeysResponse.Record(recordName: recordName, keys: Array(wrapped.values))
    }

    // MARK: Links

    /// Returns the URL fragments of a share, as far as this account knows them.
    func links(of name: GroupName) async -> ShareLinks {
        var links = ShareLinks()
        guard let device = try? await device(),
            let answer = try? await lookup(
                LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone),
            let keys = try? await opened(answer, name)
        else { return links }
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        links.share = answer.link.flatMap { ShareLink($0, keys, of: place) }
        for link in answer.oneTimeLinks {
            links.oneTime[link.participantID] = ShareLink(
                link.link, keys, of: place, participant: link.participantID)
        }
        return links
    }

    /// Takes the key of a share that was accepted by its URL, and wraps the key for the account, so that all devices of
    /// the account have it.
    func join(_ name: GroupName, by link: ShareLink) async throws(KeyFailure) {
        let answer = try await lookup(
            LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone)
        if try await opened(answer, name).currentKey != nil { return }
        let device = try await device()
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        guard try owner(of: name.zone, answer, device).hashes.first == link.owner else {
            throw .invalid("the devices that the service shows are not those of who shared")
        }
        let found = Self.open(answer, by: link, place)
        guard let found, let recipient = device.accountKey?.publicKey,
            let box = GroupKeys.box(found.key, version: found.version, for: recipient, of: place, by: device)
        else { return }
        let request = PutGroupKeyRequest(zoneID: name.zone.zoneID, group: name.group, boxes: [GroupBox(key: box)])
        _ = try await opened(try await put(request, name.zone), name)
    }

    /// Opens the key of a share with the secret of the share's URL, or of a one-time URL.
    private static func open(
        _ answer: KeysResponse, by link: ShareLink, _ place: GroupPlace
    ) -> (key: SealKey, version: Int64)? {
        for wrapped in answer.oneTimeLinks {
            if let key = link.key(wrapped.link, of: place, participant: wrapped.participantID) {
                return (key, wrapped.link.version)
            }
        }
        guard let wrapped = answer.link, let key = link.key(wrapped, of: place) else { return nil }
        return (key, wrapped.version)
    }
}

extension KeyFailure {
    fileprivate static let keysAreChanging = KeyFailure.service(
        .transport(
            .zoneBusy, "Other devices are changing the key of what is shared: try again",
            retryAfter: DatabaseRequestContext.keyRetryAfter))
}
