import CloudKit
import NephosCrypto
import NephosService
import NephosWire

/// What a cloud's service has stored, as text: containers, zones, records with their fields, shares,
/// subscriptions.
///
/// Two clouds with the same records print the same text: it has no times, change tags or internal names. Of encrypted
/// values and files it has the type and the size alone. `differences(from:)` and `==` know their ciphertext and checksum
/// too: a value that was encrypted anew counts as changed, also where it is the same, as the service cannot tell.
///
///     let before = try await cloud.snapshot()
///     try await app.sync()
///     #expect(try await cloud.snapshot().differences(from: before) == [#"added Note "milk" in mei's _defaultZone"#])
public struct CloudSnapshot: Hashable, Sendable, CustomStringConvertible {
    /// An environment of a container.
    struct Place: Hashable, Sendable, Comparable {
        let container: String
        let environment: String

        static func < (left: Place, right: Place) -> Bool {
            (left.container, left.environment) < (right.container, right.environment)
        }

        var description: String { "\(container), \(environment)" }
    }

    /// A zone of a container.
    struct Zone: Hashable, Sendable, Comparable {
        let place: Place
        /// The owner; nil for the public database.
        let account: String?
        let name: String

        /// Whether it exists as long as its database does: without records it is not in a snapshot.
        var isPermanent: Bool { name == CKRecordZone.ID.defaultZoneName }

        private var key: [String] { [account ?? "", name] }
        static func < (left: Zone, right: Zone) -> Bool {
            left.place == right.place ? left.key.lexicographicallyPrecedes(right.key) : left.place < right.place
        }

        var description: String {
            account.map { "\($0.quotedIfNeeded)'s \(name.quotedIfNeeded)" } ?? "the public database"
        }
    }

    /// An account's subscription to a database.
    struct Subscription: Hashable, Sendable, Comparable {
        let place: Place
        let account: String
        let database: DatabaseScope
        let kind: SubscriptionDictionary.SubscriptionType
        let id: String

        private var key: [String] { [account, database.rawValue, kind.rawValue, id] }
        static func < (left: Subscription, right: Subscription) -> Bool {
            left.place == right.place ? left.key.lexicographicallyPrecedes(right.key) : left.place < right.place
        }

        var description: String {
            "\(account.quotedIfNeeded)'s \(kind.rawValue) subscription \(id.quoted) to the \(database.rawValue) database"
        }
    }

    /// A record's type and name.
    struct Record: Hashable, Sendable, Comparable {
        let type: String
        let name: String

        static func < (left: Record, right: Record) -> Bool { (left.type, left.name) < (right.type, right.name) }

        var description: String { "\(type) \(name.quoted)" }
    }

    /// A field of a record.
    struct Field: Hashable, Sendable {
        let text: String
        /// The hash of what the text does not show: ciphertext, and the checksums of files.
        var hidden = FNV1a([]).value

        init(_ text: String) { self.text = text }
    }

    /// The fields, by zone, record and name.
    var zones: [Zone: [Record: [String: Field]]] = [:]
    var subscriptions: [Subscription: SubscriptionDictionary] = [:]

    private var places: Set<Place> { Set(zones.keys.map(\.place)).union(subscriptions.keys.map(\.place)) }

    public var description: String {
        places.sorted().flatMap { place in
            [place.description]
                + zones.filter { $0.key.place == place }.sorted { $0.key < $1.key }.flatMap(Self.lines)
                + subscriptions.keys.filter { $0.place == place }.sorted().map { "  \($0.description)" }
        }
        .joined(separator: "\n")
    }

    private static func lines(_ zone: Zone, _ records: [Record: [String: Field]]) -> [String] {
        ["  \(zone.description)"]
            + records.sorted { $0.key < $1.key }.flatMap { record, fields in
                ["    \(record.description)"]
                    + fields.sorted { $0.key < $1.key }.map { "      \($0.key): \($0.value.text)" }
            }
    }

    /// Returns a text for each addition, removal and change since an earlier snapshot, in a stable order. Each names its
    /// container and environment where the two snapshots have several.
    public func differences(from earlier: CloudSnapshot) -> [String] {
        let isOne = places.union(earlier.places).count < 2
        func suffix(_ place: Place) -> String { isOne ? "" : " of \(place.description)" }
        let ofZones = Set(zones.keys).union(earlier.zones.keys).sorted().flatMap { zone -> [String] in
            let (old, new) = (earlier.zones[zone], zones[zone])
            let name = zone.description + suffix(zone.place)
            if new == nil, !zone.isPermanent { return ["removed \(name)"] }
            let added = old == nil && !zone.isPermanent ? ["added \(name)"] : []
            return added + Self.differences(from: old ?? [:], to: new ?? [:], in: name)
        }
        let all = Set(subscriptions.keys).union(earlier.subscriptions.keys).sorted()
        let ofSubscriptions = all.compactMap { subscription -> String? in
            let (old, new) = (earlier.subscriptions[subscription], subscriptions[subscription])
            if old == new { return nil }
            let change = old == nil ? "added" : new == nil ? "removed" : "changed"
            return "\(change) \(subscription.description)" + suffix(subscription.place)
        }
        return ofZones + ofSubscriptions
    }

    private static func differences(
        from old: [Record: [String: Field]], to new: [Record: [String: Field]], in zone: String
    ) -> [String] {
        Set(old.keys).union(new.keys).sorted().flatMap { record -> [String] in
            let place = "\(record.description) in \(zone)"
            guard let after = new[record] else { return ["removed \(place)"] }
            guard let before = old[record] else { return ["added \(place)"] }
            return Set(before.keys).union(after.keys).sorted().compactMap { field in
                if before[field] == after[field] { return nil }
                let (old, new) = (before[field]?.text ?? "nothing", after[field]?.text ?? "nothing")
                return "changed \(place): \(field) from \(old) to \(old == new ? "another " : "")\(new)"
            }
        }
    }
}

extension LocalCloud {
    /// Returns what the service has stored. Encrypted values print their type alone, as the service cannot read them.
    /// - Throws: `LocalCloudError`.
    public func snapshot() async throws -> CloudSnapshot {
        do throws(ServiceError) {
            var snapshot = CloudSnapshot()
            for container in try await service.overview().containers {
                try await SnapshotReader(service: service, container: container).read(into: &snapshot)
            }
            return snapshot
        } catch {
            throw LocalCloudError(error.reason)
        }
    }
}

/// Reads one container's zones and subscriptions.
private struct SnapshotReader {
    let service: NephosService
    let container: ServiceOverview.Container

    private var context: RequestContext { context(.public, account: nil) }

    private func context(_ scope: DatabaseScope, account: String?) -> RequestContext {
        RequestContext(
            container: container.container,
            environment: container.environment == "production" ? .production : .development, scope: scope,
            account: account, requestID: "snapshot")
    }

    private var place: CloudSnapshot.Place {
        CloudSnapshot.Place(container: container.container, environment: container.environment)
    }

    func read(into snapshot: inout CloudSnapshot) async throws(ServiceError) {
        let accounts = try await service.listAccounts(ListAccountsRequest(), context).accounts
        let names = Dictionary(accounts.map { ($0.userRecordName, $0.name) }) { first, _ in first }
        var places = [AdministeredZone(account: nil)]
        for account in accounts {
            places.append(AdministeredZone(account: account.name))
            let custom = try await service.listAccountZones(ListAccountZonesRequest(account: account.name), context)
            places += custom.zones.map { AdministeredZone(account: account.name, zoneName: $0.zoneName) }
        }
        for place in places {
            let records = try await records(in: place, names)
            // Every database has a default zone: one without records says nothing.
            if records.isEmpty, place.zoneName == ZoneIDDictionary.defaultZoneName { continue }
            snapshot.zones[.init(place: self.place, account: place.account, name: place.zoneName)] = records
        }
        for account in accounts.map(\.name) {
            for database in [DatabaseScope.public, .private, .shared] {
                try await read(database, of: account, into: &snapshot)
            }
        }
    }

    /// Reads an account's subscriptions to a database.
    private func read(
        _ database: DatabaseScope, of account: String, into snapshot: inout CloudSnapshot
    ) async throws(ServiceError) {
        for result in try await service.listSubscriptions(context(database, account: account)).subscriptions {
            guard case .subscription(var subscription) = result, let id = subscription.subscriptionID else { continue }
            // The names of users are random.
            if database == .private { subscription.zoneID?.ownerRecordName = nil }
            snapshot.subscriptions[
                .init(
                    place: place, account: account, database: database, kind: subscription.subscriptionType, id: id)] =
                subscription
        }
    }

    private func records(
        in place: AdministeredZone, _ names: [String: String]
    ) async throws(ServiceError) -> [CloudSnapshot.Record: [String: CloudSnapshot.Field]] {
        var found: [CloudSnapshot.Record: [String: CloudSnapshot.Field]] = [:]
        var request = ListRecordsRequest(place)
        repeat {
            let page: ListRecordsResponse
            do throws(ServiceError) {
                // The service encodes what it lists.
                let encoded = try await service.listRecords(request, context).encoded()
                page = (try? ListRecordsResponse(decoding: encoded)) ?? ListRecordsResponse()
            } catch {
                // An account that never saved anything has no default zone.
                guard error.clientCode == .zoneNotFound else { throw error }
                return found
            }
            for case .record(let record) in page.records where record.recordType != CKRecord.SystemType.userRecord {
                let text = RecordText(record, zone: place.zoneName, names)
                found[CloudSnapshot.Record(type: record.recordType, name: record.recordName)] = text.fields
            }
            request.continuationMarker = page.continuationMarker
        } while request.continuationMarker != nil
        return found
    }
}

/// A record's fields as text.
private struct RecordText {
    private(set) var fields: [String: CloudSnapshot.Field] = [:]
    private let zone: String

    init(_ record: RecordDictionary, zone: String, _ names: [String: String]) {
        self.zone = zone
        for entry in (try? record.fields.decoded())?.entries ?? [] {
            fields[entry.name] = field(entry.field.value)
        }
        if let parent = record.parent { fields["parent"] = field(.reference(parent)) }
        if let share = record.share { fields["share"] = field(.reference(share)) }
        guard let share = record.shareDetails else { return }
        fields["publicPermission"] = .init(share.publicPermission.rawValue)
        for participant in share.participants {
            let user = participant.userIdentity.userRecordName
            let name = user.flatMap { names[$0] } ?? participant.userIdentity.lookupInfo?.emailAddress ?? "someone"
            fields["participant \(name.quotedIfNeeded)"] = .init(
                [participant.role?.rawValue, participant.permission?.rawValue, participant.acceptanceStatus?.rawValue]
                    .compactMap(\.self).joined(separator: ", "))
        }
    }

    private func field(_ value: FieldValue?) -> CloudSnapshot.Field {
        guard let value else { return .init("nothing") }
        var field = CloudSnapshot.Field(text(value))
        var hash = FNV1a([])
        addHidden(of: value, to: &hash)
        field.hidden = hash.value
        return field
    }

    private func addHidden(of value: FieldValue, to hash: inout FNV1a) {
        switch value {
        case .sealed(let value): hash.add(value.bytes)
        case .asset(let asset): hash.add(asset.fileChecksum.utf8)
        case .list(_, let values): for value in values { addHidden(of: value, to: &hash) }
        default: break
        }
    }

    private func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let string): string.quoted
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bytes(let bytes): "\(bytes.count) bytes, hash \(String(FNV1a(bytes).value, radix: 16))"
        case .timestamp(let time): "\(time.milliseconds) ms"
        case .location(let place): "(\(place.latitude), \(place.longitude))"
        case .reference(let reference): text(reference)
        case .asset(let asset):
            "file of \(asset.seal == nil ? asset.size : ContentSeal.size(ofSealed: asset.size) ?? asset.size) bytes"
        case .list(_, let values): "[" + values.map(text).joined(separator: ", ") + "]"
        case .sealed(let value): value.schemaType
        }
    }

    private func text(_ reference: ReferenceValue) -> String {
        let other = reference.zoneID?.zoneName
        let place = other == nil || other == zone ? "" : " in \((other ?? "").quotedIfNeeded)"
        return "-> \(reference.recordName.quoted)\(place)" + (reference.action == .deleteSelf ? ", deleteSelf" : "")
    }
}
