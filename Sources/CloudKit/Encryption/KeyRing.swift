import Foundation
import NephosCrypto
import NephosWire

/// The reason why a value cannot be sealed or opened.
enum KeyFailure: Error, Hashable, Sendable {
    /// The service did not return the keys, so the whole request fails.
    case service(ServiceFailure)
    /// The keys from the service are invalid. Operations that need them fail, and others continue.
    case invalid(String)
}

/// A zone whose keys are looked up.
struct KeyZone: Hashable, Comparable, Sendable {
    /// The user record name of the owner; nil for the account's own zones.
    var owner: String?
    var name: String

    init(owner: String?, name: String) {
        self.owner = owner
        self.name = name
    }

    static func < (one: KeyZone, other: KeyZone) -> Bool {
        (one.name, one.owner ?? "") < (other.name, other.owner ?? "")
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

/// The keys of one account in a container session. Each key is fetched on first use.
actor KeyRing {
    let service: any CloudService
    private let container: String
    private let environment: String
    private var identity: Task<Result<DeviceIdentity, KeyFailure>, Never>?
    /// The number of calls that wait for it.
    private var callsOfDevice = 0
    /// Whether the service has keys of the account but this device is not approved.
    private(set) var isUnapproved = false
    private(set) var groups: [GroupName: GroupKeys] = [:]
    /// The pins of other accounts' device lists, by user record name. Device lists are append-only.
    private var pins: [String: KeptKeys.Pin] = [:]
    /// The groups whose keys wrap the keys of records, as far as the service has named them. This cache has two halves,
    /// as the key cache below, and evicts the older half when it is full.
    private var recordGroups: [RecordName: LearntGroup] = [:]
    /// The zones whose owner had no device with keys at the last lookup.
    private var zonesWithoutOwnersDevice: Set<KeyZone> = []
    /// The recipients of boxes for this account that its list of devices did not have when it was fetched last.
    private var unknownRecipients: Set<[UInt8]> = []
    /// The number of calls of `forget` so far.
    private var epoch = 0
    private var recordKeys: [RecordName: [KnownKey]] = [:]
    private var olderRecordKeys: [RecordName: [KnownKey]] = [:]
    /// The maximum number of records in each half of a cache.
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

    /// A record's key, with the version of the group key that wrapped it.
    struct KnownKey: Hashable, Sendable {
        var key: RecordKey
        var group: String
        var version: Int64
        /// Whether the key no longer seals new values.
        var isInherited: Bool
    }

    init(_ service: any CloudService, container: String) {
        self.service = service
        self.container = container
        environment = service.environmentName.rawValue
    }

    // MARK: The account

    /// Returns the identity of this device once it is enrolled. Failures are not cached, so the next call retries.
    func device() async throws(KeyFailure) -> DeviceIdentity {
        let task =
            identity
            ?? Task(executorPreference: service.executor) { [service, container, environment] in
                let enrolment = Enrolment(service: service, container: container, environment: environment)
                do throws(KeyFailure) {
                    return .success(try await enrolment.device())
                } catch {
                    return .failure(error)
                }
            }
        identity = task
        callsOfDevice += 1
        // The first one has the requests.
        let waits = callsOfDevice > 1
        if waits { service.callWaits() }
        let result = await task.value
        if waits { service.callGoesOn() }
        callsOfDevice -= 1
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

    /// Polls for the approval of the device, and posts `CKAccountChanged` once it is approved.
    private func awaitApproval() {
        guard !isUnapproved else { return }
        isUnapproved = true
        // It polls longer than the operation lives whose time-outs the task has.
        ServiceCall.$times.withValue(nil) {
            _ = Task(executorPreference: service.executor) { [weak self] in
                var seconds = 2.0
                while true {
                    try? await Task.sleep(for: .seconds(seconds))
                    guard let self, await self.isUnapproved else { return }
                    _ = try? await self.device()
                    seconds = min(60, seconds * 2)
                }
            }
        }
    }

    /// Returns the device list of another account. The first list that this device sees is trusted. A later list that
    /// does not continue it waits for a person's decision (`AccountDevices.accept`).
    func list(of user: String, _ entries: [[UInt8]], _ device: DeviceIdentity) throws(KeyFailure) -> DeviceList {
        if user == device.place.owner { return device.list }
        let place = KeyPlace(container: container, environment: environment, owner: user)
        guard let list = DeviceList(entries, in: place), let pin = KeptKeys.Pin(list) else {
            throw .invalid("the list of the devices of \(user) is not one")
        }
        // A service that escrows all keys is also trusted with the device lists.
        guard let kept = device.kept else { return list }
        let isKnown: Bool
        do throws(KeptKeys.Failure) {
            isKnown = try knows(list, pin, of: user, kept)
        } catch {
            // If the pin cannot be read, no list is trusted.
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

    /// Whether a device list equals or continues the pinned list. Pins the first list that this device sees.
    private func knows(
        _ list: DeviceList, _ pin: KeptKeys.Pin, of user: String, _ kept: KeptKeys
    ) throws(KeptKeys.Failure) -> Bool {
        let known: KeptKeys.Pin? = if let pin = pins[user] { pin } else { try kept.pin(of: user) }
        if let known, !known.isBeginning(of: list) {
            // A person may have accepted the list meanwhile, in another process.
            guard let accepted = try kept.pin(of: user), accepted.isBeginning(of: list) else { return false }
        }
        if known != pin { try kept.keep(pin, of: user) }
        return true
    }

    /// Notes that the key of a group is delivered once a person has accepted an account.
    func note(_ name: GroupName, waitsFor user: String, _ device: DeviceIdentity) {
        device.kept?.keepWaiting(KeptKeys.WaitingGroup(name), of: user)
    }

    /// Notes an unsigned member of a share, with the list of devices that the service shows.
    func noteUnsigned(_ member: KeysResponse.Member, of name: GroupName, _ device: DeviceIdentity) {
        let place = KeyPlace(container: container, environment: environment, owner: member.userRecordName)
        guard let pin = DeviceList(member.entries, in: place).flatMap(KeptKeys.Pin.init) else { return }
        device.kept?.keepWaiting(pin, of: member.userRecordName)
        note(name, waitsFor: member.userRecordName, device)
    }

    func place(of zone: KeyZone, _ device: DeviceIdentity) -> ZonePlace {
        ZonePlace(
            account: KeyPlace(container: container, environment: environment, owner: zone.owner ?? device.place.owner),
            zoneName: zone.name)
    }

    // MARK: Groups

    /// Returns the keys of a group. If there are none and `making` is true, makes a key.
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

    /// Whether the key of a group is sealed for an account key that a revoked device knows.
    func isOld(_ keys: GroupKeys, _ name: GroupName, _ device: DeviceIdentity) -> Bool {
        name.zone.owner == nil && !keys.isEmpty && keys.recipient != device.list.accountKey
    }

    func lookup(_ request: LookupKeysRequest, _ zone: KeyZone) async throws(KeyFailure) -> KeysResponse {
        do throws(ServiceFailure) {
            return try await service.send(.lookupKeys, request, zone.call)
        } catch {
            throw .service(error)
        }
    }

    func put(_ request: PutGroupKeyRequest, _ zone: KeyZone) async throws(KeyFailure) -> KeysResponse {
        do throws(ServiceFailure) {
            return try await service.send(.putGroupKey, request, zone.call)
        } catch {
            // After a refusal the device identity is fetched again, because the account's device list may have changed.
            if case .refused = error { identity = nil }
            throw .service(error)
        }
    }

    func opened(_ answer: KeysResponse, _ name: GroupName) async throws(KeyFailure) -> GroupKeys {
        do throws(KeyFailure) {
            let keys = try open(answer, name, try await device())
            guard let recipient = keys.unknownRecipient, unknownRecipients.insert(recipient).inserted else {
                return keys
            }
            // The account may have a new account key since the device identity was fetched.
            identity = nil
            return try open(answer, name, try await device())
        } catch {
            guard case .invalid = error else { throw error }
            // The device identity is fetched again, because a device that joined the list meanwhile may have signed the
            // keys.
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

    /// Returns the device list of the zone's owner.
    func owner(
        of zone: KeyZone, _ answer: KeysResponse, _ device: DeviceIdentity
    ) throws(KeyFailure) -> DeviceList {
        guard let user = zone.owner else { return device.list }
        return try list(of: user, answer.ownerEntries, device)
    }

    /// Returns the advice for an error message on how a missing key arrives.
    func advice(onKeysOf zone: KeyZone) -> String {
        if zone.owner == nil { return "another device of the account's hands it over when it synchronises next" }
        if zonesWithoutOwnersDevice.contains(zone) {
            return
                "its owner has no device with keys that could hand it over; one gets them when the owner's app synchronises"
                + " there, in a browser it does not"
        }
        return "a device of its owner's hands it over when it synchronises next"
    }

    /// Evicts all keys and groups of a zone, because the keys of the zone or of its records may have changed. If the zone
    /// had keys, the account key may have changed too.
    func forget(_ zone: KeyZone) {
        let kept = groups.filter { $0.key.zone != zone }
        if kept.count < groups.count { identity = nil }
        groups = kept
        epoch += 1
        recordKeys = recordKeys.filter { $0.key.zone != zone }
        olderRecordKeys = olderRecordKeys.filter { $0.key.zone != zone }
    }

    // MARK: Records

    /// The keys of records, and the records whose keys are missing.
    struct RecordKeys: Sendable {
        var keys: [String: [KnownKey]] = [:]
        /// The names of records whose group key this account does not have yet.
        var waiting: Set<String> = []
        /// The names of records with a key that the group's key does not open.
        var broken: Set<String> = []

        /// Marks the records for which a needed key was not found.
        fileprivate mutating func noteWaiting(_ names: [String: Set<[UInt8]>]) {
            for (name, ids) in names where !broken.contains(name) {
                let known = keys[name] ?? []
                if ids.contains(where: { id in !known.contains { $0.key.id == id } }) { waiting.insert(name) }
            }
        }
    }

    /// Returns the keys of records by record name, as far as the service has them.
    ///
    /// - Parameter names: the IDs of the needed keys of each record; an empty set stands for all its keys.
    func keys(
        ofRecords names: [String: Set<[UInt8]>], in zone: KeyZone
    ) async throws(KeyFailure) -> RecordKeys {
        let hadKeys = groups.keys.contains { $0.zone == zone }
        let found = try await lookUpKeys(ofRecords: names, in: zone)
        guard hadKeys, !found.broken.isEmpty else { return found }
        // The zone may have been deleted and recreated with other keys.
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
        // Without the account's own keys no key opens, so this fails before the lookup.
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
        // A needed key that the service did not return to this account may arrive later. An owner receives all keys at
        // once.
        if zone.owner != nil { found.noteWaiting(names) }
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

    /// Unwraps the keys of a record that known group keys wrap.
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

    /// Caches the key with which a record was saved.
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

    /// Whether the key of the zone itself seals values, as far as that is known.
    func isPerZone(_ zone: KeyZone) -> Bool { groups[GroupName(zone: zone, group: "")]?.isPerZone ?? false }

    /// Returns the group whose key wraps the key of a record, by the service's answers about the record or its parent;
    /// nil if it is unknown.
    func group(of name: String, parent: String?, in zone: KeyZone) -> String? {
        (recordGroups[RecordName(zone: zone, name: name)]
            ?? parent.flatMap { recordGroups[RecordName(zone: zone, name: $0)] })?.group
    }

    /// Evicts the cached group of a record if it was cached before the zone's keys were evicted, because the share may
    /// have ended meanwhile.
    /// - Returns: whether an entry was evicted.
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
    static var call: ServiceCall { ServiceCall(scope: .private) }
}
