import NephosStorage
package import NephosWire

extension NephosService {
    /// The service's containers, their accounts, and the number of records of each type. Reads at most as much as the
    /// `Limits.overview…` constants allow, and creates no store.
    package func overview() async throws(ServiceError) -> ServiceOverview {
        do {
            let ids = try await stores.known().sorted {
                ($0.container, $0.environment) < ($1.container, $1.environment)
            }
            var containers: [ServiceOverview.Container] = []
            for id in ids.prefix(Limits.overviewContainers) {
                let container = try await stores.usingExisting(id) { store in
                    try await store?.engine.read { try Self.overview(id, $0) }
                }
                if let container { containers.append(container) }
            }
            return ServiceOverview(containers: containers, isComplete: ids.count <= Limits.overviewContainers)
        } catch {
            throw translate(error, requestID: "status")
        }
    }

    private static func overview(_ id: StoreID, _ reader: StorageReader) throws -> ServiceOverview.Container {
        var container = ServiceOverview.Container(container: id.container, environment: id.environment)
        let zones = try reader.zones(after: 0, limit: Limits.overviewZones)
        container.isComplete = zones.count < Limits.overviewZones
        var types: [String: CountedType] = [:]
        var owners: Set<OwnerID> = []
        var left = Limits.overviewRecords
        for zone in zones where !zone.isDeleted {
            container.zones += 1
            if zone.key.owner != .everyone { owners.insert(zone.key.owner) }
            var visited = 0
            try reader.visitRecords(zone: zone.key, after: 0, limit: left, size: .max) { record in
                visited += 1
                if record.isDeleted { return }
                types[String(decoding: record.type, as: UTF8.self), default: CountedType(newestIn: zone)]
                    .count(record.sequence, in: zone)
            }
            left -= visited
            guard left > 0 else {
                container.isComplete = false
                break
            }
        }
        let names = try owners.reduce(into: [OwnerID: String]()) { names, owner in
            names[owner] = try reader.liveAccount(id: owner.rawValue)?.name
        }
        container.accounts = names.values.sorted()
        container.recordTypes = types.sorted { $0.key < $1.key }.map { name, type in
            let owner = type.zone.key.owner
            return ServiceOverview.RecordType(
                name: name, records: type.count,
                database: (owner == .everyone ? DatabaseScope.public : .private).rawValue,
                account: names[owner], zone: type.zone.name)
        }
        return container
    }
}

/// The records of a type that were counted so far.
private struct CountedType {
    private(set) var count = 0
    private var newest: Int64 = 0
    /// The zone of the record that was changed last.
    private(set) var zone: ZoneRow

    init(newestIn zone: ZoneRow) { self.zone = zone }

    mutating func count(_ sequence: Int64, in zone: ZoneRow) {
        count += 1
        if sequence > newest { (newest, self.zone) = (sequence, zone) }
    }
}
