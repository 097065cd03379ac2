import Foundation
import NephosCrypto
import NephosWire

/// Why something cannot be sealed or opened.
enum KeyFailure: Error, Hashable, Sendable {
    /// The service did not answer with the keys: nothing of the request goes on.
    case service(ServiceFailure)
    /// What it answered with are not the keys: what needs them fails, the rest goes on.
    case invalid(String)
}

/// A zone as keys are looked for.
struct KeyZone: Hashable, Sendable {
    /// The owner's user record name; nil for the account's own zones.
    var owner: String?
    var name: String

    init(owner: String?, name: String) {
        self.owner = owner
        self.name = name
    }

    init(_ zoneID: CKRecordZone.ID, _ scope: CKDatabase.Scope) {
        owner = scope == .shared ? zoneID.ownerName : nil
        name = zoneID.zoneName
    }

    init(_ zoneID: ZoneIDDictionary?, _ scope: CKDatabase.Scope) {
        owner = scope == .shared ? zoneID?.ownerRecordName : nil
        name = zoneID?.zoneName ?? ZoneIDDictionary.defaultZoneName
    }

    var zoneID: ZoneIDDictionary { ZoneIDDictionary(zoneName: name, ownerRecordName: owner) }
    var call: ServiceCall { ServiceCall(scope: owner == nil ? .private : .shared) }
}

/// The keys that a container's session has for one account. Each is asked for when something needs it first.
actor KeyRing {
    let service: any CloudService
    private let container: String
    private let environment: String
    private var identity: Task<Result<DeviceIdentity, KeyFailure>, Never>?
    /// Whether the service has the account's keys, but not for this device.
    private(set) var isUnapproved = false
    private var groups: [GroupName: GroupKeys] = [:]
    /// The lists of others' devices as they were seen last: such a list only grows.
    private var pins: [String: KeptKeys.Pin] = [:]
    /// The group whose key is to wrap those of a record, as far as the service said. The older half goes when there are too
    /// many, here and below.
    private var recordGroups: [RecordName: LearntGroup] = [:]
    /// Zones whose owners had no device with keys when the service was asked last.
    private var zonesWithoutOwnersDevice: Set<KeyZone> = []
    /// Counts the calls of `forget`.
    private var epoch = 0
    private var recordKeys: [RecordName: [KnownKey]] = [:]
    private var olderRecordKeys: [RecordName: [KnownKey]] = [:]
    /// Records in each half.
    private static let recordsKept = 8192

    struct GroupName: Hashable, Sendable {
        var zone: KeyZone
        var group: String
    }

    private struct LearntGroup {
        var group: String
        var epoch: Int
    }

    private struct RecordName: Hashable {
        var zone: KeyZone
        var name: String
    }

    /// A record's key, and where it was wrapped.
    struct KnownKey: Hashable, Sendable {
        var key: RecordKey
        var group: String
        var version: Int64
        /// Whether it seals no more.
        var isInherited: Bool
    }

    init(_ service: any CloudService, container: String) {
        self.service = service
        self.container = container
        environment = service.environmentName.rawValue
    }

    // MARK: The account

    /// This device, listed. What fails is tried again the next time.
    func device() async throws(KeyFailure) -> DeviceIdentity {
        let task =
            identity
            ?? Task(executorPreference: LibraryExecutor.shared) { [service, container, environment] in
                let enrolment = Enrolment(service: service, container: container, environment: environment)
                do throws(KeyFailure) {
                    return .success(try await enrolment.device())
                } catch {
                    return .failure(error)
                }
            }
        identity = task
        let result = await task.value
        switch result {
        case .failure(let error):
            if identity == task { identity = nil }
            if case .service(.transport(.accountTemporarilyUnavailable, _, .some)) = error { awaitApproval() }
        case .success where isUnapproved:
            isUnapproved = false
            NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        case .success: break
        }
        return try result.get()
    }

    /// Looks from time to time whether the device was approved, and posts `CKAccountChanged` then.
    private func awaitApproval() {
        guard !isUnapproved else { return }
        isUnapproved = true
        Task(executorPreference: LibraryExecutor.shared) { [weak self] in
            var seconds = 2.0
            while true {
                try? await Task.sleep(for: .seconds(seconds))
                guard let self, await self.isUnapproved else { return }
                _ = try? await self.device()
                seconds = min(60, seconds * 2)
            }
        }
    }

    /// The list of another account's devices. The first one that is seen is the account's: a list that is not that one,
    /// continued, waits for a person (`AccountDevices.accept`).
    func list(of user: String, _ entries: [[UInt8]], _ device: DeviceIdentity) throws(KeyFailure) -> DeviceList {
        if user == device.place.owner { return device.list }
        let place = KeyPlace(container: container, environment: environment, owner: user)
        guard let list = DeviceList(entries, in: place), let pin = KeptKeys.Pin(list) else {
            throw .invalid("the list of the devices of \(user) is not one")
        }
        // A service that keeps all keys is trusted with the lists too.
        guard let kept = device.kept else { return list }
        let isKnown: Bool
        do throws(KeptKeys.Failure) {
            isKnown = try knows(list, pin, of: user, kept)
        } catch {
            // Where it cannot be known, nothing is trusted in its place.
            throw .service(.transport(.accountTemporarilyUnavailable, error.description))
        }
        guard isKnown else {
            kept.keepWaiting(pin, of: user)
            throw .invalid(
                "the list of the devices of \(user) is not the one that this device knows: it was forked, shortened"
                    + " or replaced. 'nephos keys compare' shows both")
        }
        pins[user] = pin
        return list
    }

    /// Whether a list is the one that this device knows, or goes on from it; the first one that it sees is.
    private func knows(
        _ list: DeviceList, _ pin: KeptKeys.Pin, of user: String, _ kept: KeptKeys
    ) throws(KeptKeys.Failure) -> Bool {
        let known: KeptKeys.Pin? = if let pin = pins[user] { pin } else { try kept.pin(of: user) }
        if let known, !known.isBeginning(of: list) {
            // What a person accepted meanwhile is kept.
            guard let accepted = try kept.pin(of: user), accepted.isBeginning(of: list) else { return false }
        }
        if known != pin { try kept.keep(pin, of: user) }
        return true
    }

    func note(_ name: GroupName, waitsFor user: String, _ device: DeviceIdentity) {
        device.kept?.keepWaiting(
            KeptKeys.WaitingGroup(zoneName: name.zone.name, owner: name.zone.owner, group: name.group), of: user)
    }

    func place(of zone: KeyZone, _ device: DeviceIdentity) -> ZonePlace {
        ZonePlace(
            account: KeyPlace(container: container, environment: environment, owner: zone.owner ?? device.place.owner),
            zoneName: zone.name)
    }

    // MARK: Groups

    /// A group's keys; they are made where there are none, and the caller is about to seal and may make them.
    func keys(of name: GroupName, making: Bool) async throws(KeyFailure) -> (GroupPlace, GroupKeys) {
        let device = try await device()
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        if let known = groups[name], !making || known.currentKey != nil && !isOld(known, name, device) {
            return (place, known)
        }
        var keys = try await opened(
            try await lookup(
                LookupKeysRequest(
                    zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone), name)
        if !keys.isEmpty, making, isOld(keys, name, device) {
            try await rotateAndDistributeKeys(name, roots: [])
            keys = groups[name] ?? keys
        }
        if keys.isEmpty, making, name.zone.owner == nil {
            try await rotateAndDistributeKeys(name, roots: [])
            keys = groups[name] ?? keys
        }
        groups[name] = keys.isEmpty ? nil : keys
        return (place, keys)
    }

    /// Whether a group's key is for an account key that a revoked device has.
    func isOld(_ keys: GroupKeys, _ name: GroupName, _ device: DeviceIdentity) -> Bool {
        name.zone.owner == nil && !keys.isEmpty && keys.recipient != device.list.accountKey
    }

    func lookup(_ request: LookupKeysRequest, _ zone: KeyZone) async throws(KeyFailure) -> KeysResponse {
        do throws(ServiceFailure) {
            return try await service.lookupKeys(request, zone.call)
        } catch {
            throw .service(error)
        }
    }

    func put(_ request: PutGroupKeyRequest, _ zone: KeyZone) async throws(KeyFailure) -> KeysResponse {
        do throws(ServiceFailure) {
            return try await service.putGroupKey(request, zone.call)
        } catch {
            // The list of the account's devices may be another one by now.
            if case .refused = error { identity = nil }
            throw .service(error)
        }
    }

    func opened(_ answer: KeysResponse, _ name: GroupName) async throws(KeyFailure) -> GroupKeys {
        do throws(KeyFailure) {
            return try open(answer, name, try await device())
        } catch {
            guard case .invalid = error else { throw error }
            // A device may have signed that is on the list by now.
            identity = nil
            return try open(answer, name, try await device())
        }
    }

    private func open(
        _ answer: KeysResponse, _ name: GroupName, _ device: DeviceIdentity
    ) throws(KeyFailure) -> GroupKeys {
        if name.zone.owner != nil, answer.ownerEntries.isEmpty {
            zonesWithoutOwnersDevice.insert(name.zone)
        } else {
            zonesWithoutOwnersDevice.remove(name.zone)
        }
        if answer.group.isEmpty {
            groups[name] = nil
            return GroupKeys()
        }
        let signers = answer.signers.compactMap { signer in
            DeviceList(
                signer.entries,
                in: KeyPlace(container: container, environment: environment, owner: signer.userRecordName))
        }
        let proof = GroupProof(
            group: GroupPlace(zone: place(of: name.zone, device), group: name.group),
            owner: try owner(of: name.zone, answer, device), own: device.list, signers: signers,
            isOwn: name.zone.owner == nil)
        do throws(GroupKeys.Invalid) {
            let keys = try GroupKeys(answer, proof, device)
            groups[name] = keys
            return keys
        } catch {
            throw .invalid(error.reason)
        }
    }

    /// The list of the devices of a zone's owner.
    func owner(
        of zone: KeyZone, _ answer: KeysResponse, _ device: DeviceIdentity
    ) throws(KeyFailure) -> DeviceList {
        guard let user = zone.owner else { return device.list }
        return try list(of: user, answer.ownerEntries, device)
    }

    /// What has to happen for a key to come that has not arrived.
    func advice(onKeysOf zone: KeyZone) -> String {
        if zone.owner == nil { return "another device of the account's hands it over when it synchronises next" }
        if zonesWithoutOwnersDevice.contains(zone) {
            return
                "its owner has no device with keys that could hand it over; one gets them when the owner's app synchronises"
                + " there, in a browser it does not"
        }
        return "a device of its owner's hands it over when it synchronises next"
    }

    /// Forgets what is known of a zone, as its keys, or those of its records, are others by now.
    func forget(_ zone: KeyZone) {
        groups = groups.filter { $0.key.zone != zone }
        epoch += 1
        recordKeys = recordKeys.filter { $0.key.zone != zone }
        olderRecordKeys = olderRecordKeys.filter { $0.key.zone != zone }
    }

    // MARK: Records

    /// The keys of records, and of which records some have not arrived.
    struct RecordKeys: Sendable {
        var keys: [String: [KnownKey]] = [:]
        /// Whose group's key this account has not yet.
        var waiting: Set<String> = []
        /// Which have a key that the group's key does not open.
        var broken: Set<String> = []
    }

    /// The keys of records by their names, as far as the service has them.
    ///
    /// - Parameter names: the IDs of the keys that are needed of each; none are all that there are.
    func keys(
        ofRecords names: [String: Set<[UInt8]>], in zone: KeyZone
    ) async throws(KeyFailure) -> RecordKeys {
        let hadKeys = groups.keys.contains { $0.zone == zone }
        let found = try await lookUpKeys(ofRecords: names, in: zone)
        guard hadKeys, !found.broken.isEmpty else { return found }
        // The zone may have been made again, with other keys.
        forget(zone)
        return try await lookUpKeys(ofRecords: names, in: zone)
    }

    private func lookUpKeys(
        ofRecords names: [String: Set<[UInt8]>], in zone: KeyZone
    ) async throws(KeyFailure) -> RecordKeys {
        var found = RecordKeys()
        var missing: [String] = []
        let zoneKeys = groups[GroupName(zone: zone, group: "")]?.recordKeys ?? []
        for (name, ids) in names {
            let known = known(RecordName(zone: zone, name: name)) + zoneKeys
            if !known.isEmpty, ids.allSatisfy({ id in known.contains { $0.key.id == id } }) {
                found.keys[name] = known
            } else {
                missing.append(name)
            }
        }
        if missing.isEmpty { return found }
        // Without the account's own keys nothing opens, whatever the service has of the record.
        let device = try await device()
        for start in stride(from: 0, to: missing.count, by: Self.recordsPerLookup) {
            let names = Array(missing[start..<min(start + Self.recordsPerLookup, missing.count)])
            let answer = try await lookup(
                LookupKeysRequest(zoneID: zone.zoneID, wantsGroup: false, recordNames: names), zone)
            try await fetchGroups(of: answer.records, in: zone)
            for record in answer.records { open(record, in: zone, device, &found) }
            guard answer.isPerZone else { continue }
            let group = GroupName(zone: zone, group: "")
            groups[group] = nil
            let keys = try await keys(of: group, making: false).1.recordKeys
            for name in names { found.keys[name, default: []] += keys }
        }
        for (name, ids) in names {
            // A key that the service shows in no form that is for this account may come yet; to the owner all are shown.
            let known = found.keys[name] ?? []
            if zone.owner != nil, ids.contains(where: { id in !known.contains { $0.key.id == id } }),
                !found.broken.contains(name)
            {
                found.waiting.insert(name)
            }
        }
        return found
    }

    private func fetchGroups(of records: [KeysResponse.Record], in zone: KeyZone) async throws(KeyFailure) {
        var versions: [String: Int64] = [:]
        for key in records.flatMap(\.keys) { versions[key.group] = max(versions[key.group] ?? 0, key.version) }
        for (group, version) in versions {
            let name = GroupName(zone: zone, group: group)
            if let known = groups[name], known.keys[version] != nil { continue }
            groups[name] = nil
            _ = try await keys(of: name, making: false)
        }
    }

    /// Opens what of a record's keys is wrapped under keys that are known.
    private func open(
        _ record: KeysResponse.Record, in zone: KeyZone, _ device: DeviceIdentity, _ found: inout RecordKeys
    ) {
        var keys: [KnownKey] = []
        var sealed: Set<[UInt8]> = []
        var broken: Set<[UInt8]> = []
        for wrapped in record.keys {
            let name = GroupName(zone: zone, group: wrapped.group)
            guard let group = groups[name]?.keys[wrapped.version] else {
                sealed.insert(wrapped.id)
                continue
            }
            let place = GroupPlace(zone: place(of: zone, device), group: wrapped.group)
            if let key = RecordKey(wrapped, under: group, recordName: record.recordName, in: place) {
                keys.append(
                    KnownKey(
                        key: key, group: wrapped.group, version: wrapped.version,
                        isInherited: wrapped.isInherited || wrapped.isSpent))
            } else {
                broken.insert(wrapped.id)
            }
        }
        let open = Set(keys.map(\.key.id))
        if !sealed.subtracting(open).isEmpty { found.waiting.insert(record.recordName) }
        if !broken.subtracting(open).isEmpty { found.broken.insert(record.recordName) }
        found.keys[record.recordName] = keys
        remember(keys, of: RecordName(zone: zone, name: record.recordName))
    }

    /// Keeps the key of a record that was saved with it.
    func remember(_ key: KnownKey, ofRecord name: String, in zone: KeyZone) {
        let record = RecordName(zone: zone, name: name)
        remember(known(record).filter { $0.key.id != key.key.id } + [key], of: record)
    }

    private func remember(_ keys: [KnownKey], of record: RecordName) {
        if keys.isEmpty { return }
        if recordKeys.count >= Self.recordsKept {
            olderRecordKeys = recordKeys
            recordKeys = [:]
        }
        recordKeys[record] = keys
    }

    private func known(_ record: RecordName) -> [KnownKey] { recordKeys[record] ?? olderRecordKeys[record] ?? [] }

    /// Whether the zone's key itself seals values, as far as that is known.
    func isPerZone(_ zone: KeyZone) -> Bool { groups[GroupName(zone: zone, group: "")]?.isPerZone ?? false }

    /// The group whose key is to wrap a record's: what the service said, or what it said of the record's parent.
    func group(of name: String, parent: String?, in zone: KeyZone) -> String? {
        (recordGroups[RecordName(zone: zone, name: name)]
            ?? parent.flatMap { recordGroups[RecordName(zone: zone, name: $0)] })?.group
    }

    /// Drops what was learnt of a record's group before the zone's keys were forgotten: the share may have ended since.
    /// - Returns: whether there was something to drop.
    func dropOutdatedGroup(of name: String, parent: String?, in zone: KeyZone) -> Bool {
        var hasDropped = false
        for name in [name, parent].compactMap({ $0 }).map({ RecordName(zone: zone, name: $0) }) {
            guard let learnt = recordGroups[name], learnt.epoch < epoch else { continue }
            recordGroups[name] = nil
            hasDropped = true
        }
        return hasDropped
    }

    func learn(_ group: String, of name: String, in zone: KeyZone) {
        if recordGroups.count >= Self.recordsKept { recordGroups = [:] }
        recordGroups[RecordName(zone: zone, name: name)] = LearntGroup(group: group, epoch: epoch)
    }

    private static let recordsPerLookup = 400
    static let call = ServiceCall(scope: .private)
}
