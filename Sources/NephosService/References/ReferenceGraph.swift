import NephosStorage
import NephosWire

/// A reference from one record of a zone to another, of a kind that matters if the target is deleted.
struct ReferenceEdge: Hashable {
    var target: String
    var kind: ReferenceRow.Kind
}

/// Derives the edges of a record from its parent, its share and its fields.
enum ReferenceGraph {
    static func edges(of row: RecordRow) -> Set<ReferenceEdge> {
        var edges: Set<ReferenceEdge> = []
        if let parent = row.parent { edges.insert(ReferenceEdge(target: parent, kind: .parent)) }
        if let share = row.share { edges.insert(ReferenceEdge(target: share, kind: .share)) }
        for (_, reference) in EncodedFields(bytes: row.fields).bindingReferences() {
            switch reference.action {
            case .none: break
            case .deleteSelf: edges.insert(ReferenceEdge(target: reference.recordName, kind: .deleteSelf))
            case .validate: edges.insert(ReferenceEdge(target: reference.recordName, kind: .validate))
            }
        }
        return edges
    }
}

/// The edges between the records of a zone after the saves of a batch.
struct BatchGraph {
    /// The kinds of edges that prevent the deletion of their target while their source remains.
    static let holding: [ReferenceRow.Kind] = [.parent, .validate]

    let zone: ZoneKey
    let reader: StorageReader
    /// The edges of each saved record, by record name.
    private var saved: [String: Set<ReferenceEdge>] = [:]
    private var savedSources: [String: Set<String>] = [:]
    /// The cascade that was found before the write began, which `saved` overrides; nil if none was found.
    private(set) var found: FoundCascade?

    init(zone: ZoneKey, reader: StorageReader) {
        self.zone = zone
        self.reader = reader
    }

    /// Uses a cascade that was found before the write began, unless too much may have changed since the search.
    mutating func use(_ found: FoundCascade, in zone: ZoneRow) throws {
        guard let changes = try found.changes(in: zone, reader) else { return }
        self.found = found
        for row in changes {
            if !row.isDamaged {
                save(row.name, edges: row.isDeleted ? [] : ReferenceGraph.edges(of: row))
            } else {
                let edges = try reader.references(zone: zone.key, from: row.name)
                save(row.name, edges: Set(edges.map { ReferenceEdge(target: $0.target, kind: $0.kind) }))
            }
        }
    }

    /// The cascade that was found before the write began; nil if a record was written since the search or the batch
    /// saves one.
    func unchanged(deleting names: [String]) -> FoundCascade? {
        saved.isEmpty && found?.names == names ? found : nil
    }

    /// A cascaded record as the search found it, without its fields; nil if it may have changed since.
    func unchangedRow(_ name: String) -> RecordRow? { saved[name] == nil ? found?.row(name) : nil }

    mutating func save(_ source: String, edges: Set<ReferenceEdge>) {
        saved[source] = edges
        for edge in edges { savedSources[edge.target, default: []].insert(source) }
    }

    /// The records that refer to each target with one of `kinds`, in the order of the targets.
    func sources(of targets: [String], kinds: [ReferenceRow.Kind]) throws -> [Set<String>] {
        var sources: [String: Set<String>] = [:]
        var unknown: [String] = []
        for target in targets {
            if let known = found?.sources(of: target, kinds: kinds) {
                sources[target] = saved.isEmpty ? known : known.filter { saved[$0] == nil }
            } else {
                unknown.append(target)
            }
        }
        for row in try reader.references(zone: zone, to: unknown, kinds: kinds) where saved[row.source] == nil {
            sources[row.target, default: []].insert(row.source)
        }
        return targets.map { target in
            let own = (savedSources[target] ?? []).filter { holds($0, target, kinds) }
            return own.isEmpty ? sources[target] ?? [] : (sources[target] ?? []).union(own)
        }
    }

    /// The first record by name that refers to `target` with one of `kinds` and for which `wanted` is true; nil if
    /// there is none.
    /// - Parameter limit: the maximum number of stored references to examine.
    func firstSource(
        of target: String, kinds: [ReferenceRow.Kind], reading limit: Int = .max, where wanted: (String) throws -> Bool
    ) throws -> String? {
        let ofBatch = try (savedSources[target] ?? []).sorted().first { try holds($0, target, kinds) && wanted($0) }
        var last: String?
        var room = limit
        while room > 0 {
            let size = min(room, Limits.referencesPerRead)
            let page = try reader.references(zone: zone, to: target, kinds: kinds, after: last, limit: size)
            let stored = try page.first { try saved[$0.source] == nil && wanted($0.source) }
            if let stored { return ofBatch.map { min($0, stored.source) } ?? stored.source }
            guard page.count == size else { break }
            last = page.last?.source
            room -= size
        }
        return ofBatch
    }

    private func holds(_ source: String, _ target: String, _ kinds: [ReferenceRow.Kind]) -> Bool {
        saved[source]?.contains { $0.target == target && kinds.contains($0.kind) } ?? false
    }
}
