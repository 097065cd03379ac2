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
        var counts: [String: Int] = [:]
        var owners: Set<OwnerID> = []
        var left = Limits.overviewRecords
        for zone in zones where !zone.isDeleted {
            container.zones += 1
            if zone.key.owner != .everyone { owners.insert(zone.key.owner) }
            var visited = 0
            try reader.visitRecords(zone: zone.key, after: 0, limit: left, size: .max) { record in
                visited += 1
                if !record.isDeleted { counts[String(decoding: record.type, as: UTF8.self), default: 0] += 1 }
            }
            left -= visited
            guard left > 0 else {
                container.isComplete = false
                break
            }
        }
        container.accounts = try owners.compactMap { try reader.liveAccount(id: $0.rawValue)?.name }.sorted()
        container.recordTypes = counts.sorted { $0.key < $1.key }.map { .init(name: $0.key, records: $0.value) }
        return container
    }
}
