import CloudKit
import NephosCrypto
import NephosService
import NephosWire

/// What a cloud's service has stored, as text: containers, zones, records with their fields, shares.
///
/// Two clouds with the same records print the same text: it has no times, change tags or internal names. Of encrypted
/// values and files it has the type and the size alone. `differences(from:)` and `==` know their ciphertext and checksum
/// too: a value that was encrypted anew counts as changed, also where it is the same, as the service cannot tell.
///
///     let before = try await cloud.snapshot()
///     try await app.sync()
///     #expect(try await cloud.snapshot().differences(from: before) == [#"added Note "milk" in mei's _defaultZone"#])
public struct CloudSnapshot: Hashable, Sendable, CustomStringConvertible {
    /// A zone of a container.
    struct Zone: Hashable, Sendable, Comparable {
        let container: String
        let environment: String
        /// The owner; nil for the public database.
        let account: String?
        let name: String

        private var key: [String] { [container, environment, account ?? "", name] }
        static func < (left: Zone, right: Zone) -> Bool { left.key.lexicographicallyPrecedes(right.key) }

        var description: String { account.map { "\($0)'s \(name)" } ?? "the public database" }
    }

    /// A record's type and name.
    struct Record: Hashable, Sendable, Comparable {
        let type: String
        let name: String

        static func < (left: Record, right: Record) -> Bool { (left.type, left.name) < (right.type, right.name) }

        var description: String { "\(type) \"\(name)\"" }
    }

    /// A field of a record.
    struct Field: Hashable, Sendable {
        let text: String
        /// The hash of what the text does not show: ciphertext, and the checksums of files.
        var hidden = FNV1a([]).value

        init(_ text: String) { self.text = text }
    }

    /// The fields, by zone, record and name.
    let zones: [Zone: [Record: [String: Field]]]

    public var description: String {
        var lines: [String] = []
        var container = ""
        for (zone, records) in zones.sorted(by: { $0.key < $1.key }) {
            let header = "\(zone.container), \(zone.environment)"
            if header != container { lines.append(header) }
            container = header
            lines.append("  \(zone.description)")
            for (record, fields) in records.sorted(by: { $0.key < $1.key }) {
                lines.append("    \(record.description)")
                for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
                    lines.append("      \(field): \(value.text)")
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Returns what was added, removed and changed since an earlier snapshot, one text each, in a stable order.
    public func differences(from earlier: CloudSnapshot) -> [String] {
        Set(zones.keys).union(earlier.zones.keys).sorted().flatMap { zone -> [String] in
            guard let new = zones[zone] else { return ["removed \(zone.description)"] }
            let old = earlier.zones[zone]
            let added = old == nil && zone.name != CKRecordZone.ID.defaultZoneName ? ["added \(zone.description)"] : []
            return added + Self.differences(from: old ?? [:], to: new, in: zone)
        }
    }

    private static func differences(
        from old: [Record: [String: Field]], to new: [Record: [String: Field]], in zone: Zone
    ) -> [String] {
        Set(old.keys).union(new.keys).sorted().flatMap { record -> [String] in
            let place = "\(record.description) in \(zone.description)"
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
            var zones: [CloudSnapshot.Zone: [CloudSnapshot.Record: [String: CloudSnapshot.Field]]] = [:]
            for container in try await service.overview().containers {
                try await SnapshotReader(service: service, container: container).read(into: &zones)
            }
            return CloudSnapshot(zones: zones)
        } catch {
            throw LocalCloudError(error.reason)
        }
    }
}

/// Reads one container's zones.
private struct SnapshotReader {
    let service: NephosService
    let container: ServiceOverview.Container

    private var context: RequestContext {
        RequestContext(
            container: container.container,
            environment: container.environment == "production" ? .production : .development, scope: .public,
            account: nil, requestID: "snapshot")
    }

    func read(
        into zones: inout [CloudSnapshot.Zone: [CloudSnapshot.Record: [String: CloudSnapshot.Field]]]
    ) async throws(ServiceError) {
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
            let zone = CloudSnapshot.Zone(
                container: container.container, environment: container.environment, account: place.account,
                name: place.zoneName)
            zones[zone] = records
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
            fields["participant \(name)"] = .init(
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
        case .string(let string): "\"\(string)\""
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bytes(let bytes): "\(bytes.count) bytes, hash \(String(FNV1a(bytes).value, radix: 16))"
        case .timestamp(let time): "\(time.milliseconds) ms"
        case .location(let place): "(\(place.latitude), \(place.longitude))"
        case .reference(let reference): text(reference)
        case .asset(let asset): "file of \(asset.size) bytes"
        case .list(_, let values): "[" + values.map(text).joined(separator: ", ") + "]"
        case .sealed(let value): value.schemaType
        }
    }

    private func text(_ reference: ReferenceValue) -> String {
        let other = reference.zoneID?.zoneName
        let place = other == nil || other == zone ? "" : " in \(other ?? "")"
        return "-> \"\(reference.recordName)\"\(place)" + (reference.action == .deleteSelf ? ", deleteSelf" : "")
    }
}
