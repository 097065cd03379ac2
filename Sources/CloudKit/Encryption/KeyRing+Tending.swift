import Foundation
import NephosCrypto
import NephosWire

/// What the owner's library does for those who take part in a share.
extension KeyRing {
    /// Sees to a group of the account's own: that it has a key, and another one since somebody took part who does no more;
    /// that all who take part, or are invited and have keys, have it; that its URL has a secret; and that the keys of
    /// records are wrapped under it.
    /// - Parameter roots: the records of which, and of what is below them, keys are to be wrapped; the empty name is all of
    ///   the zone.
    func tend(_ name: GroupName, roots: [String]) async throws(KeyFailure) {
        let device = try await device()
        let isShared = !name.group.isEmpty || roots == [""]
        for _ in 1...Self.tendingAttempts {
            let answer = try await lookup(
                LookupKeysRequest(
                    zoneID: name.zone.zoneID, group: name.group, wantsGroup: true, wantsMembers: isShared),
                name.zone)
            let keys = try opened(answer, name, device)
            guard let request = try request(name, answer, keys, isShared: isShared, device) else { break }
            let after = try await put(request, name.zone)
            _ = try opened(after, name, device)
            // Where another device was faster with the key, this one goes on with that.
            if request.key == nil || after.group.last == request.key { break }
        }
        if !roots.isEmpty { try await wrapKeys(below: roots, for: name, device) }
    }

    private static let tendingAttempts = 4

    /// What is to be handed to the service; nil where that is nothing.
    private func request(
        _ name: GroupName, _ answer: KeysResponse, _ keys: GroupKeys, isShared: Bool, _ device: DeviceIdentity
    ) throws(KeyFailure) -> PutGroupKeyRequest? {
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        var request = PutGroupKeyRequest(
            zoneID: name.zone.zoneID, group: name.group, settled: answer.attention == 0 ? nil : answer.attention)
        var (key, version) = (keys.currentKey, keys.current)
        if keys.isEmpty || answer.isStale || isOld(keys, name, device) {
            guard let next = keys.next(for: place, device) else { throw .invalid("the account has no key") }
            request.key = next.wrapped
            (key, version) = (next.key, next.wrapped.version)
        }
        guard let key else { throw .invalid("the account has not the present key") }
        for member in answer.members {
            // Whose list is not the one that is known waits for a person; the others do not.
            guard let list = try? list(of: member.userRecordName, member.entries, device),
                request.key != nil || member.recipient != list.accountKey,
                let box = GroupKeys.box(key, version: version, for: list.accountKey, of: place, by: device)
            else { continue }
            request.boxes.append(GroupBox(userRecordName: member.userRecordName, key: box))
        }
        if isShared, answer.link?.version != version, let owner = device.list.hashes.first {
            let link = ShareLink(secret: .random(), owner: owner)
            request.link = link.wrapped(key, version: version, of: place)
        }
        let isNothing =
            request.key == nil && request.boxes.isEmpty && request.link == nil && request.settled == nil
        return isNothing ? nil : request
    }

    /// Wraps the keys of records for a group, page by page.
    private func wrapKeys(
        below roots: [String], for name: GroupName, _ device: DeviceIdentity
    ) async throws(KeyFailure) {
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        while true {
            let answer = try await lookup(
                LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: false, missingBelow: roots),
                name.zone)
            if answer.records.isEmpty { return }
            let names = Dictionary(answer.records.map { ($0.recordName, Set<[UInt8]>()) }) { $1 }
            let known = try await keys(ofRecords: names, in: name.zone).keys
            let (_, group) = try await keys(of: name, making: false)
            guard let key = group.currentKey else { throw .invalid("the account has not the present key") }
            let records = answer.records.compactMap { record -> KeysResponse.Record? in
                let there = Set(record.keys.filter { $0.group == name.group }.map(\.id))
                var wrapped: [[UInt8]: WrappedRecordKey] = [:]
                for known in known[record.recordName] ?? [] where !there.contains(known.key.id) {
                    wrapped[known.key.id] = known.key.wrapped(
                        under: key, version: group.current, recordName: record.recordName, in: place, isInherited: true)
                }
                return wrapped.isEmpty
                    ? nil : KeysResponse.Record(recordName: record.recordName, keys: Array(wrapped.values))
            }
            // What does not open cannot be wrapped: those who take part find it as its owner does.
            if records.isEmpty { return }
            _ = try await put(
                PutGroupKeyRequest(zoneID: name.zone.zoneID, group: name.group, records: records), name.zone)
            if !answer.hasMore { return }
        }
    }

    // MARK: Links

    /// What the URL of a share has in its fragment; nil where this account cannot know it.
    func link(of name: GroupName) async -> ShareLink? {
        guard let device = try? await device(),
            let answer = try? await lookup(
                LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone),
            let link = answer.link, let keys = try? opened(answer, name, device)
        else { return nil }
        return ShareLink(link, keys, of: GroupPlace(zone: place(of: name.zone, device), group: name.group))
    }

    /// Takes the key of a share that was accepted by its URL, and wraps it for the account, so that all its devices have it.
    func join(_ name: GroupName, by link: ShareLink) async throws(KeyFailure) {
        let device = try await device()
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        let answer = try await lookup(
            LookupKeysRequest(zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone)
        if try opened(answer, name, device).currentKey != nil { return }
        guard let user = name.zone.owner, try list(of: user, answer.ownerEntries, device).hashes.first == link.owner
        else { throw .invalid("the devices that the service shows are not those of who shared") }
        guard let wrapped = answer.link, let key = link.key(wrapped, of: place),
            let recipient = device.accountKey?.publicKey,
            let box = GroupKeys.box(key, version: wrapped.version, for: recipient, of: place, by: device)
        else { return }
        let request = PutGroupKeyRequest(zoneID: name.zone.zoneID, group: name.group, boxes: [GroupBox(key: box)])
        _ = try opened(try await put(request, name.zone), name, device)
    }
}
