import NephosStorage
import NephosWire

/// An edge from a record to another of its zone, of a kind that matters when the target is deleted.
struct ReferenceEdge: Hashable {
    var target: String
    var kind: ReferenceRow.Kind
}

/// The edges that follow from a record.
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

/// The edges of a zone as they will be once the saves of a batch are written.
struct BatchGraph {
    let zone: ZoneKey
    let reader: any StorageReader
    /// The edges of each record that the batch saves.
    private var saved: [String: Set<ReferenceEdge>] = [:]
    private var savedSources: [String: Set<String>] = [:]

    init(zone: ZoneKey, reader: any StorageReader) {
        self.zone = zone
        self.reader = reader
    }

    mutating func save(_ source: String, edges: Set<ReferenceEdge>) {
        saved[source] = edges
        for edge in edges { savedSources[edge.target, default: []].insert(source) }
    }

    /// The records that point at `target` with one of `kinds`.
    func sources(of target: String, kinds: [ReferenceRow.Kind]) throws -> Set<String> {
        var sources: Set<String> = []
        var last: String?
        while true {
            let page = try reader.references(
                zone: zone, to: target, kinds: kinds, after: last, limit: Limits.referencesPerRead)
            for row in page where saved[row.source] == nil { sources.insert(row.source) }
            guard page.count == Limits.referencesPerRead else { break }
            last = page.last?.source
        }
        for source in savedSources[target] ?? [] where holds(source, target, kinds) { sources.insert(source) }
        return sources
    }

    private func holds(_ source: String, _ target: String, _ kinds: [ReferenceRow.Kind]) -> Bool {
        saved[source]?.contains { $0.target == target && kinds.contains($0.kind) } ?? false
    }
}
