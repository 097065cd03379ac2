import NephosStorage
package import NephosWire

extension NephosService {
    /// The service's containers, their accounts, and the number of records of each type: all types of the schema, and the
    /// records that were changed last. Reads at most as much as the `Limits.overview…` constants allow, and creates no store.
    /// - Parameters:
    ///   - records: the number of a container's records that are counted.
    ///   - made: the containers of the installation: those without a store are listed as empty, and a missing store as
    ///     not counted.
    package func overview(
        records: Int = Limits.overviewRecords, made: [String] = []
    ) async throws(ServiceError) -> ServiceOverview {
        do {
            let (known, missing) = (try await stores.known(), try await stores.missing())
            let empty = Set(made).subtracting(known.union(missing).map(\.container)).map {
                StoreID(container: $0, environment: ContainerEnvironment.development.rawValue)
            }
            let ids = known.union(empty).union(missing.subtracting([.installation])).sorted {
                ($0.container, $0.environment) < ($1.container, $1.environment)
            }
            var containers: [ServiceOverview.Container] = []
            for id in ids.prefix(Limits.overviewContainers) {
                if missing.contains(id) || empty.contains(id) {
                    containers.append(
                        ServiceOverview.Container(
                            container: id.container, environment: id.environment, isComplete: !missing.contains(id)))
                    continue
                }
                let container = try await stores.usingExisting(id) { store in
                    try await store?.engine.read { try Self.overview(id, records, $0) }
                }
                if let container { containers.append(container) }
            }
            return ServiceOverview(containers: containers, isComplete: ids.count <= Limits.overviewContainers)
        } catch {
            throw translate(error, requestID: "status")
        }
    }

    static func overview(
        _ id: StoreID, _ records: Int, _ reader: StorageReader
    ) throws -> ServiceOverview.Container {
        var container = ServiceOverview.Container(container: id.container, environment: id.environment)
        let zones = try reader.zones(after: 0, limit: Limits.overviewZones)
        container.zones = zones.count
        var counted = try NewestRecords(records, of: zones, reader)
        container.isComplete = zones.count < Limits.overviewZones && counted.isComplete
        // A type of the schema is there wherever its records are.
        for name in try reader.recordTypes() where counted.types[name] == nil {
            counted.types[name] = NewestRecords.OfType()
        }
        let owners = Set(zones.map(\.key.owner)).subtracting([.everyone])
        let names = try owners.reduce(into: [OwnerID: String]()) { names, owner in
            names[owner] = try reader.liveAccount(id: owner.rawValue)?.name
        }
        container.accounts = names.values.sorted()
        container.recordTypes = counted.types.sorted { $0.key < $1.key }.map { name, type in
            let owner = type.zone?.key.owner
            return ServiceOverview.RecordType(
                name: name, records: type.count,
                database: owner.map { ($0 == .everyone ? DatabaseScope.public : .private).rawValue },
                account: owner.flatMap { names[$0] }, zone: type.zone?.name)
        }
        return container
    }
}

/// Counts the most recently changed records by type. Each zone gets an equal share of the remaining limits, so that a large
/// zone hides no other.
private struct NewestRecords {
    struct OfType {
        private(set) var count = 0
        private var newest: Int64 = 0
        /// The zone of the record that was changed last; nil without a counted record.
        private(set) var zone: ZoneRow?

        mutating func note(_ sequence: Int64, in zone: ZoneRow) {
            count += 1
            if sequence > newest { (newest, self.zone) = (sequence, zone) }
        }
    }

    var types: [String: OfType] = [:]
    private(set) var isComplete = true

    init(_ limit: Int, of zones: [ZoneRow], _ reader: StorageReader) throws {
        var open = zones.map { (zone: $0, before: Int64.max) }
        var (left, size) = (limit, Limits.overviewSize)
        while !open.isEmpty, left > 0, size > 0 {
            let (part, partSize) = (max(1, left / open.count), max(1, size / open.count))
            var rest: [(zone: ZoneRow, before: Int64)] = []
            for (zone, start) in open {
                guard left > 0, size > 0 else {
                    rest.append((zone, start))
                    continue
                }
                var (visited, read, before) = (0, 0, start)
                try reader.visitRecords(zone: zone.key, before: start, limit: min(part, left), size: partSize) {
                    (visited, read, before) = (visited + 1, read + $0.fields.count, $0.sequence)
                    if !$0.isDeleted { add(String(decoding: $0.type, as: UTF8.self), $0.sequence, zone) }
                }
                if visited == min(part, left) || read >= partSize { rest.append((zone, before)) }
                (left, size) = (left - visited, size - read)
            }
            open = rest
        }
        for (zone, before) in open where isComplete {
            try reader.visitRecords(zone: zone.key, before: before, limit: 1, size: .max) { _ in isComplete = false }
        }
    }

    private mutating func add(_ type: String, _ sequence: Int64, _ zone: ZoneRow) {
        types[type, default: OfType()].note(sequence, in: zone)
    }
}
