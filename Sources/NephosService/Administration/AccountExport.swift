import NephosStorage
import NephosWire

/// The records of an account's private databases, in the form of `nephos export`, a piece at a time: so memory is
/// bounded, and each read of a store is short. Files of assets and encrypted values are left out.
///
/// The pieces are no snapshot: a record that changes meanwhile may have several lines, of which the last is its latest.
package actor AccountExport {
    /// A store that is being exported.
    private struct Current {
        var store: StoreID
        /// The ID of the account in the store, and its zones that are left. The first one is being exported.
        var account: Int64
        var zones: ArraySlice<ZoneRow>
        /// The change sequence of the last exported record of the first zone; nil before the zone's own line.
        var sequence: Int64?
    }

    private let service: NephosService
    private let account: String
    private let isLive: @Sendable () async -> Bool
    private let slot: ExportSlots.Slot
    private var stores: ArraySlice<StoreID>
    private var current: Current?

    fileprivate init(
        _ service: NephosService, _ account: String, _ stores: [StoreID], _ slot: ExportSlots.Slot,
        isLive: @escaping @Sendable () async -> Bool
    ) {
        (self.service, self.account, self.stores, self.slot) = (service, account, stores[...], slot)
        self.isLive = isLive
    }

    /// Returns the next lines, each with its end; nil after the last one.
    /// - Throws: `notAuthenticated` once the session is over.
    package func next() async throws(ServiceError) -> [UInt8]? {
        guard await isLive() else { throw .sessionIsOver }
        do {
            while true {
                if var step = current {
                    let lines = try await read(&step)
                    current = step.zones.isEmpty ? nil : step
                    if !lines.isEmpty { return lines }
                } else if let store = stores.popFirst() {
                    let (begun, header) = try await begin(store)
                    current = begun
                    if !header.isEmpty { return header }
                } else {
                    return nil
                }
            }
        } catch {
            throw service.translate(error, requestID: "export")
        }
    }

    /// - Returns: the store with the account's zones, and the header of its lines; nil and nothing if the account was
    ///   never there.
    private func begin(_ id: StoreID) async throws -> (Current?, header: [UInt8]) {
        let found = try await service.stores.usingExisting(id) { [account] store -> (Int64, [ZoneRow])? in
            guard let store else { return nil }
            return try await store.engine.read { reader in
                guard let row = try Accounts.find(account, reader) else { return nil }
                return (row.id, try reader.zones(owner: row.owner))
            }
        }
        guard let (row, zones) = found else { return (nil, []) }
        let header = ExportHeader(
            container: id.container, environment: id.environment, database: DatabaseScope.private.rawValue,
            account: nil)
        let current = Current(store: id, account: row, zones: zones.sorted { $0.name < $1.name }[...])
        return (zones.isEmpty ? nil : current, header.encoded() + Self.lineEnd)
    }

    /// Reads on in the first zone.
    private func read(_ current: inout Current) async throws -> [UInt8] {
        guard let zone = current.zones.first else { return [] }
        let (owner, sequence) = (current.account, current.sequence)
        let page = try await service.stores.usingExisting(current.store) {
            store -> (lines: [UInt8], last: Int64?)? in
            guard let store else { return nil }
            return try await store.engine.read { reader in
                guard try reader.liveAccount(id: owner) != nil else { return nil }
                return try Self.lines(of: zone, after: sequence, store, reader)
            }
        }
        // The account may be deleted meanwhile.
        guard let (lines, last) = page else {
            current.zones = []
            return []
        }
        current.sequence = last
        if last == nil { current.zones.removeFirst() }
        return lines
    }

    private static let lineEnd = [UInt8(ascii: "\n")]

    /// - Returns: the lines, and the change sequence of the last record; nil at the zone's end.
    private static func lines(
        of zone: ZoneRow, after sequence: Int64?, _ store: Store, _ reader: StorageReader
    ) throws -> (lines: [UInt8], last: Int64?) {
        var lines: [UInt8] = []
        if sequence == nil, !ZoneRules.isDefault(zone.name) {
            let make = ZoneOperation(
                operationType: .create, zoneID: ZoneIDDictionary(zoneName: zone.name),
                encryptionScope: try PerZone.scope(of: zone.key, reader))
            lines += ModifyZonesRequest(operations: [make]).encoded() + lineEnd
        }
        let rows = try reader.records(
            zone: zone.key, after: sequence ?? 0, limit: Limits.exportedRecords, size: Limits.exportedBytes)
        let projection = RecordProjection(
            desiredKeys: nil, numbersAsStrings: false,
            assets: AssetAddresses(
                store.tokens, baseURL: "", now: 0, hasAssets: false, databaseLimit: store.assets.databaseLimit))
        for row in rows where !row.isDeleted && row.type != SystemRecordType.user && !row.type.hasPrefix("cloudkit.") {
            let record = projection.dictionary(row, users: [:])
            lines += try RecordLine.encode(record, in: zone.name) { _, _ in nil }.line + lineEnd
        }
        return (lines, rows.last?.sequence)
    }
}

extension NephosService {
    /// Begins to export the records of an account, from all containers and environments.
    /// - Parameters:
    ///   - account: the account's name, which for an installation is its ID.
    ///   - isLive: whether the session that asked for it lives. Asked before each piece.
    /// - Throws: `requestRateLimited` while the account has an export under way.
    package func export(
        of account: String, isLive: @escaping @Sendable () async -> Bool
    ) async throws(ServiceError) -> AccountExport {
        let slot = try exports.begin(account)
        do {
            let all = try await stores.known().filter { ContainerEnvironment(rawValue: $0.environment) != nil }
            let sorted = all.sorted { ($0.container, $0.environment) < ($1.container, $1.environment) }
            return AccountExport(self, account, sorted, slot, isLive: isLive)
        } catch {
            throw translate(error, requestID: "export")
        }
    }
}
