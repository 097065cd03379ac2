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

/// The keys that a container's session has for one account. Each is asked for when something needs it first.
actor KeyRing {
    private let service: any CloudService
    private let container: String
    private let environment: String
    private var identity: Task<Result<DeviceIdentity, KeyFailure>, Never>?
    private var zones: [String: ZoneKeys] = [:]
    /// By zone and record name. The older half goes when there are too many.
    private var recordKeys: [RecordName: [RecordKey]] = [:]
    private var olderRecordKeys: [RecordName: [RecordKey]] = [:]
    /// Records in each half.
    private static let recordsKept = 8192

    private struct RecordName: Hashable {
        var zone: String
        var name: String
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
        if case .failure = result, identity == task { identity = nil }
        return try result.get()
    }

    // MARK: Zones

    /// A zone's keys; they are made where there are none and somebody is about to seal.
    func keys(ofZone name: String, making: Bool) async throws(KeyFailure) -> (ZonePlace, ZoneKeys) {
        let device = try await device()
        let place = ZonePlace(account: device.place, zoneName: name)
        if let known = zones[name], !known.isEmpty || !making { return (place, known) }
        let zoneID = ZoneIDDictionary(zoneName: name)
        var keys = try await opened(place, device) { (call) async throws(ServiceFailure) in
            try await self.service.lookupKeys(
                LookupKeysRequest(zoneID: zoneID, wantsGroup: true, recordNames: []), call)
        }
        if keys.isEmpty, making {
            guard let first = keys.next(for: place, device) else { throw .invalid("the account has no key") }
            keys = try await opened(place, device) { (call) async throws(ServiceFailure) in
                try await self.service.putGroupKey(PutGroupKeyRequest(zoneID: zoneID, key: first), call)
            }
        }
        zones[name] = keys.isEmpty ? nil : keys
        return (place, keys)
    }

    private func opened(
        _ place: ZonePlace, _ device: DeviceIdentity,
        _ ask: (ServiceCall) async throws(ServiceFailure) -> KeysResponse
    ) async throws(KeyFailure) -> ZoneKeys {
        let answer: KeysResponse
        do throws(ServiceFailure) {
            answer = try await ask(Self.call)
        } catch {
            throw .service(error)
        }
        do throws(ZoneKeys.Invalid) {
            return try ZoneKeys(answer.group, of: place, device)
        } catch {
            throw .invalid(error.reason)
        }
    }

    /// Forgets what is known of a zone, as its keys, or those of its records, are others by now.
    func forget(zone name: String) {
        zones[name] = nil
        recordKeys = recordKeys.filter { $0.key.zone != name }
        olderRecordKeys = olderRecordKeys.filter { $0.key.zone != name }
    }

    // MARK: Records

    /// The keys of records by their names, as far as the service has them.
    ///
    /// - Parameter names: the IDs of the keys that are needed of each; none are all that there are.
    func keys(
        ofRecords names: [String: Set<[UInt8]>], inZone zone: String
    ) async throws(KeyFailure) -> [String: [RecordKey]] {
        var found: [String: [RecordKey]] = [:]
        var missing: [String] = []
        for (name, ids) in names {
            let known = known(RecordName(zone: zone, name: name))
            if !known.isEmpty, ids.allSatisfy({ id in known.contains { $0.id == id } }) {
                found[name] = known
            } else {
                missing.append(name)
            }
        }
        if missing.isEmpty { return found }
        var (place, group) = try await keys(ofZone: zone, making: false)
        for start in stride(from: 0, to: missing.count, by: Self.recordsPerLookup) {
            let names = Array(missing[start..<min(start + Self.recordsPerLookup, missing.count)])
            let answer: KeysResponse
            do throws(ServiceFailure) {
                answer = try await service.lookupKeys(
                    LookupKeysRequest(
                        zoneID: ZoneIDDictionary(zoneName: zone), wantsGroup: false, recordNames: names), Self.call)
            } catch {
                throw .service(error)
            }
            if answer.records.contains(where: { $0.keys.contains { $0.version > group.current } }) {
                zones[zone] = nil
                (place, group) = try await keys(ofZone: zone, making: false)
            }
            for record in answer.records {
                let keys = record.keys.compactMap { wrapped in
                    group.keys[wrapped.version].flatMap {
                        RecordKey(wrapped, under: $0, recordName: record.recordName, in: place)
                    }
                }
                found[record.recordName] = keys
                remember(keys, of: RecordName(zone: zone, name: record.recordName))
            }
        }
        return found
    }

    /// Keeps the key of a record that was saved with it.
    func remember(_ key: RecordKey, ofRecord name: String, inZone zone: String) {
        let record = RecordName(zone: zone, name: name)
        remember(known(record).filter { $0.id != key.id } + [key], of: record)
    }

    private func remember(_ keys: [RecordKey], of record: RecordName) {
        if keys.isEmpty { return }
        if recordKeys.count >= Self.recordsKept {
            olderRecordKeys = recordKeys
            recordKeys = [:]
        }
        recordKeys[record] = keys
    }

    private func known(_ record: RecordName) -> [RecordKey] { recordKeys[record] ?? olderRecordKeys[record] ?? [] }

    private static let recordsPerLookup = 400
    static let call = ServiceCall(scope: .private)
}

/// How a device comes to the account's keys.
struct Enrolment: Sendable {
    let service: any CloudService
    let container: String
    let environment: String

    func device() async throws(KeyFailure) -> DeviceIdentity {
        do throws(ServiceFailure) {
            let owner = try await service.currentUser(KeyRing.call).userRecordName
            let place = KeyPlace(container: container, environment: environment, owner: owner)
            let answer = try await service.accountKeys(KeyRing.call)
            // What a service is not on this machine says of itself does not get it the keys.
            return service.mayEscrowKeys && answer.escrows
                ? try await escrowed(answer, place) : try await listed(answer, place)
        } catch {
            throw .service(error)
        }
    }

    /// This device with keys of its own, which it keeps in a file. The first makes the account's list.
    private func listed(
        _ answer: AccountKeysResponse, _ place: KeyPlace
    ) async throws(ServiceFailure) -> DeviceIdentity {
        let file = KeyFile(
            directory: service.keyDirectory, service: service.keyFileName, place)
        var answer = answer
        let stored = try contents(file) { contents in
            if contents == nil { contents = KeyFile.Contents(secrets: .random()) }
            return contents
        }
        guard let stored else { throw Self.unavailable("The device's keys cannot be kept.") }
        if answer.entries.isEmpty, stored.listCount == 0,
            let entry = DeviceIdentity.firstEntry(stored.secrets, in: place)
        {
            // Where another came first, the answer has that one's.
            answer = try await service.enroll(EnrollRequest(position: 0, entry: entry), KeyRing.call)
        }
        if Int64(answer.entries.count) < stored.listCount {
            // Another process of this device may have seen more since the service was asked.
            answer = try await service.accountKeys(KeyRing.call)
        }
        guard let list = DeviceList(answer.entries, in: place), list.count >= stored.listCount,
            stored.listCount == 0 || list.hashes[Int(stored.listCount) - 1] == [UInt8](stored.listHash)
        else {
            throw Self.unavailable(
                "The service's list of the account's devices is not the one that this device knows: it was forked,"
                    + " shortened or replaced.")
        }
        guard let device = DeviceIdentity(stored.secrets, list, in: place) else {
            throw Self.unavailable("This device has not been approved for the account's encrypted values.")
        }
        try contents(file) { contents in
            contents?.listCount = list.count
            contents?.listHash = Data(list.hash)
        }
        return device
    }

    @discardableResult
    private func contents<Value>(
        _ file: KeyFile, _ body: (inout KeyFile.Contents?) -> Value
    ) throws(ServiceFailure) -> Value {
        do throws(KeyFile.Failure) {
            return try file.update(body)
        } catch {
            throw Self.unavailable(error.description)
        }
    }

    private static func unavailable(_ message: String) -> ServiceFailure {
        .transport(.accountTemporarilyUnavailable, message)
    }

    /// The one device that all of an account's stores are, where the service keeps its keys.
    private func escrowed(
        _ answer: AccountKeysResponse, _ place: KeyPlace
    ) async throws(ServiceFailure) -> DeviceIdentity {
        var answer = answer
        if answer.entries.isEmpty {
            let secrets = AccountSecrets.random()
            if let entry = DeviceIdentity.firstEntry(secrets, in: place) {
                // Where another came first, the answer has that one's.
                answer = try await service.enroll(
                    EnrollRequest(position: 0, entry: entry, escrow: secrets.encoded()), KeyRing.call)
            }
        }
        guard let list = DeviceList(answer.entries, in: place), let escrow = answer.escrow,
            let secrets = AccountSecrets(decoding: escrow), let device = DeviceIdentity(secrets, list, in: place)
        else {
            throw .transport(
                .accountTemporarilyUnavailable,
                "The keys that the service keeps for the account's devices are not the account's.")
        }
        return device
    }
}
