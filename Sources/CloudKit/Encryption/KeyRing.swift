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
    private var pins: [String: KeyFile.Pin] = [:]
    /// The group whose key is to wrap those of a record, as far as the service said. The older half goes when there are too
    /// many, here and below.
    private var recordGroups: [RecordName: String] = [:]
    private var recordKeys: [RecordName: [KnownKey]] = [:]
    private var olderRecordKeys: [RecordName: [KnownKey]] = [:]
    /// Records in each half.
    private static let recordsKept = 8192

    struct GroupName: Hashable, Sendable {
        var zone: KeyZone
        var group: String
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
    /// continued, waits for a person.
    func list(of user: String, _ entries: [[UInt8]], _ device: DeviceIdentity) throws(KeyFailure) -> DeviceList {
        let place = KeyPlace(container: container, environment: environment, owner: user)
        guard let list = DeviceList(entries, in: place), list.count > 0 else {
            throw .invalid("the list of the devices of \(user) is not one")
        }
        let known = pins[user] ?? device.file?.pin(of: user)
        if let known {
            guard list.count >= known.count, list.hashes[Int(known.count) - 1] == [UInt8](known.hash) else {
                throw .invalid(
                    "the list of the devices of \(user) is not the one that this device knows: it was forked, shortened"
                        + " or replaced")
            }
        }
        let pin = KeyFile.Pin(count: list.count, hash: Data(list.hash))
        pins[user] = pin
        if known != pin { device.file?.keep(pin, of: user) }
        return list
    }

    func place(of zone: KeyZone, _ device: DeviceIdentity) -> ZonePlace {
        ZonePlace(
            account: KeyPlace(container: container, environment: environment, owner: zone.owner ?? device.place.owner),
            zoneName: zone.name)
    }

    // MARK: Groups

    /// A group's keys; they are made where there are none, and somebody is about to seal who may make them.
    func keys(of name: GroupName, making: Bool) async throws(KeyFailure) -> (GroupPlace, GroupKeys) {
        let device = try await device()
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        if let known = groups[name], !making || known.currentKey != nil && !isOld(known, name, device) {
            return (place, known)
        }
        var keys = try opened(
            try await lookup(
                LookupKeysRequest(
                    zoneID: name.zone.zoneID, group: name.group, wantsGroup: true), name.zone), name, device)
        if !keys.isEmpty, making, isOld(keys, name, device) {
            try await tend(name, roots: [])
            keys = groups[name] ?? keys
        }
        if keys.isEmpty, making, name.zone.owner == nil {
            if name.group.isEmpty {
                guard let first = keys.next(for: place, device) else { throw .invalid("the account has no key") }
                keys = try opened(
                    try await put(PutGroupKeyRequest(zoneID: name.zone.zoneID, key: first.wrapped), name.zone), name,
                    device)
            } else {
                try await tend(name, roots: [])
                keys = groups[name] ?? keys
            }
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
            throw .service(error)
        }
    }

    func opened(
        _ answer: KeysResponse, _ name: GroupName, _ device: DeviceIdentity
    ) throws(KeyFailure) -> GroupKeys {
        let place = GroupPlace(zone: place(of: name.zone, device), group: name.group)
        let owner: DeviceList? =
            if let user = name.zone.owner, !answer.group.isEmpty {
                try list(of: user, answer.ownerEntries, device)
            } else {
                nil
            }
        do throws(GroupKeys.Invalid) {
            let keys = try GroupKeys(answer.group, boxes: answer.boxes, of: place, device, owner: owner)
            groups[name] = keys.isEmpty ? nil : keys
            return keys
        } catch {
            throw .invalid(error.reason)
        }
    }

    /// Forgets what is known of a zone, as its keys, or those of its records, are others by now.
    func forget(_ zone: KeyZone) {
        groups = groups.filter { $0.key.zone != zone }
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
        var found = RecordKeys()
        var missing: [String] = []
        for (name, ids) in names {
            let known = known(RecordName(zone: zone, name: name))
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
                        key: key, group: wrapped.group, version: wrapped.version, isInherited: wrapped.isInherited))
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

    /// The group whose key is to wrap a record's: what the service said, or what it said of the record's parent.
    func group(of name: String, parent: String?, in zone: KeyZone) -> String? {
        recordGroups[RecordName(zone: zone, name: name)]
            ?? parent.flatMap { recordGroups[RecordName(zone: zone, name: $0)] }
    }

    func learn(_ group: String, of name: String, in zone: KeyZone) {
        if recordGroups.count >= Self.recordsKept { recordGroups = [:] }
        recordGroups[RecordName(zone: zone, name: name)] = group
    }

    private static let recordsPerLookup = 400
    static let call = ServiceCall(scope: .private)
}
