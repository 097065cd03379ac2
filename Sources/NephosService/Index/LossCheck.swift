import NephosStorage
import NephosWire

/// Finds records that hold values that a schema change would drop, and names these records.
///
/// Records are read before the change, `Limits.recordsPerLossRead` in each snapshot, so that writers are not blocked.
/// The check reads the type's records through an index that lists all of them, or scans all stored records if there is
/// no such index. The transaction of the change examines only records written since the check.
struct LossCheck: Sendable {
    let losses: Set<SchemaLoss>
    /// The change sequence at the start of the check. The transaction of the change examines later writes.
    private let sequence: Int64
    private var found: [SchemaLoss: Found] = [:]

    private struct Found {
        var names: [String] = []
        var count = 0
    }

    init(_ losses: [SchemaLoss], sequence: Int64) {
        self.losses = Set(losses)
        self.sequence = sequence
    }

    /// Checks all records of a store.
    static func run(_ losses: [SchemaLoss], in engine: any StorageEngine) async throws -> LossCheck {
        if losses.isEmpty { return LossCheck([], sequence: 0) }
        var check = LossCheck(losses, sequence: try await engine.write { try $0.nextSeparatingSequence() })
        let zones = try await engine.read { try $0.zones(after: 0, limit: .max).map(\.key) }
        let indexes = IndexDefinitions(try await engine.read { try $0.indexDefinitions() })
        var unindexed: Set<String> = []
        for type in Set(losses.map(\.recordType)).sorted() {
            if let index = indexes[type]?.listingAll {
                try await check.look(at: zones, index: index, type: type, in: engine)
            } else {
                unindexed.insert(type)
            }
        }
        if !unindexed.isEmpty { try await check.look(at: zones, types: unindexed, in: engine) }
        return check
    }

    private mutating func look(
        at zones: [ZoneKey], index: Int64, type: String, in engine: any StorageEngine
    ) async throws {
        for zone in zones {
            let range = IndexRange(zone: zone, definition: index, from: [], to: OrderedBytes.end)
            var position: IndexPosition?
            repeat {
                let (check, start) = (self, position)
                (self, position) = try await engine.read { reader in
                    var check = check
                    let limit = Limits.recordsPerLossRead
                    let entries = try reader.indexEntries(range, after: start, limit: limit)
                    for entry in entries {
                        guard let row = try reader.record(zone: zone, named: entry.name) else { continue }
                        check.look(at: row)
                    }
                    return (check, entries.count == limit ? entries.last : nil)
                }
            } while position != nil
        }
    }

    private mutating func look(
        at zones: [ZoneKey], types: Set<String>, in engine: any StorageEngine
    ) async throws {
        for zone in zones {
            var position: Int64? = 0
            while let start = position {
                let check = self
                (self, position) = try await engine.read { reader in
                    var check = check
                    let limit = Limits.recordsPerLossRead
                    let rows = try reader.records(zone: zone, after: start, limit: limit, size: Limits.changesSize)
                    for row in rows where types.contains(row.type) { check.look(at: row) }
                    return (check, rows.last?.sequence)
                }
            }
        }
    }

    /// Examines the records written since the check, in the transaction that drops values. That transaction blocks
    /// other writers, so the number of records is bounded (`Limits.changesPerLossCheck`).
    /// - Returns: nil if more records were written.
    func lookingAtChanges(in reader: StorageReader) throws -> LossCheck? {
        var check = self
        if losses.isEmpty { return check }
        var left = Limits.changesPerLossCheck
        for zone in try reader.zones(after: 0, limit: .max).map(\.key) {
            var position = sequence
            while true {
                let rows = try reader.records(
                    zone: zone, after: position, limit: Limits.recordsPerLossRead, size: Limits.changesSize)
                guard let last = rows.last else { break }
                left -= rows.count
                if left < 0 { return nil }
                for row in rows { check.look(at: row) }
                position = last.sequence
            }
        }
        return check
    }

    private mutating func look(at row: RecordRow) {
        if row.isDeleted { return }
        if losses.contains(SchemaLoss(recordType: row.type)) { note(row, SchemaLoss(recordType: row.type)) }
        let fields = losses.filter { $0.recordType == row.type }.compactMap(\.field)
        if fields.isEmpty { return }
        let held = (try? EncodedFields(bytes: row.fields).selecting(fields).decoded()) ?? RecordFields()
        for field in fields where held[field]?.value != nil {
            note(row, SchemaLoss(recordType: row.type, field: field))
        }
    }

    private mutating func note(_ row: RecordRow, _ loss: SchemaLoss) {
        found[loss, default: Found()].count += 1
        if found[loss, default: Found()].names.count < SchemaLoss.namedRecords {
            found[loss, default: Found()].names.append(row.name)
        }
    }

    /// The reasons for which the change is refused; empty if it drops no values.
    func findings(_ positions: [SchemaElement: SchemaPosition]) -> [SchemaFinding] {
        found.map { loss, found in
            var finding = loss.finding(recordNames: found.names, count: found.count)
            // A field that the new schema lacks has no position in its text, so the finding has the position of the
            // field's type.
            finding.position = positions[.recordType(loss.recordType)]
            return finding
        }.inTextOrder()
    }
}

extension TypeIndexes {
    /// The ID of an index that has exactly one entry for every record of the type; nil if there is none.
    fileprivate var listingAll: Int64? {
        definitions.first { definition in
            definition.isReady
                && definition.signature.components.allSatisfy { $0.kind != .equality && $0.kind != .token }
        }?.id
    }
}
