import NephosStorage
import NephosWire

/// Records the work of one run of a query, for the query's explanation.
final class QueryTrace {
    /// The number of entries read from each index.
    private(set) var scans: [(signature: IndexSignature, entries: Int)] = []
    private(set) var recordsRead = 0
    private var counted = 0

    /// Whether entries were counted to choose the plan.
    private(set) var hasCounted = false

    /// The index that would decide more conditions of the query if the schema declared it; nil if there is none.
    var helpfulIndex: IndexSignature?

    /// The number of entries read or counted.
    var entriesRead: Int { scans.reduce(counted) { $0 + $1.entries } }

    func counted(_ entries: Int) {
        hasCounted = true
        counted += entries
    }

    /// - Returns: the index in `scans`, which `read` takes.
    func began(_ range: ScanRange) -> Int {
        if let place = scans.firstIndex(where: { $0.signature == range.signature }) { return place }
        scans.append((range.signature, 0))
        return scans.count - 1
    }

    func read(_ entries: Int, at place: Int) { scans[place].entries += entries }

    /// The number of bytes of fields of the records that were read to be sorted.
    private(set) var sortedBytes = 0

    /// Counts a record that was read to be sorted.
    func sort(_ row: RecordRow) { sortedBytes += row.fields.count }

    func readRecord() { readRecords(1) }

    func readRecords(_ count: Int) { recordsRead += count }

    func explanation(_ plan: QueryPlan, _ conjuncts: [QueryConjunct], returned: Int) -> QueryExplanation {
        var explanation = QueryExplanation(
            scans: [], entriesRead: entriesRead, recordsRead: recordsRead, recordsReturned: returned)
        for scan in scans {
            let components = scan.signature.components
            explanation.scans.append(
                QueryExplanation.Scan(
                    field: components.map(\.field).joined(separator: ", "),
                    index: components.map(\.option).joined(separator: ", "),
                    range: Self.words(plan, conjuncts), entriesRead: scan.entries))
        }
        explanation.checkedOnRecords = conjuncts.indices.filter { !plan.decides($0, of: conjuncts) }
            .map { conjuncts[$0].expression.words }
        explanation.helpfulIndex = helpfulIndex.map(SchemaPrinter.line)
        return explanation
    }

    private static func words(_ plan: QueryPlan, _ conjuncts: [QueryConjunct]) -> String {
        let words = plan.covers.sorted().map { conjuncts[$0].expression.words }
        return words.isEmpty ? "all" : words.joined(separator: " and ")
    }
}

extension QueryExplanation {
    /// The explanation for a caller that may not read all records. It omits the counts, which include other records,
    /// and the chosen index, which depends on the counts.
    var withoutCounts: QueryExplanation {
        QueryExplanation(
            scans: [], entriesRead: recordsReturned, recordsRead: recordsReturned, recordsReturned: recordsReturned)
    }
}

extension QueryExpression {
    /// The condition in words that people can read.
    var words: String {
        switch self {
        case .all: "all"
        case .none: "none"
        case .filter(let filter): filter.words
        case .and(let parts): "(" + parts.map(\.words).joined(separator: " and ") + ")"
        case .or(let parts): "(" + parts.map(\.words).joined(separator: " or ") + ")"
        case .not(let inner): "not " + inner.words
        }
    }
}

extension Filter {
    fileprivate var words: String {
        var text = "\(key.displayName) \(comparator.rawValue)"
        if let value = fieldValue.value { text += " " + value.words }
        if let distance { text += " within \(distance) m" }
        return text
    }
}

extension FieldValue {
    fileprivate var words: String {
        switch self {
        case .string(let text): "\"\(text.prefix(40))\""
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let time): String(time.milliseconds)
        case .location(let location): "(\(location.latitude), \(location.longitude))"
        case .reference(let reference): reference.recordName
        case .bytes, .asset, .sealed: type.wireName
        case .list(_, let elements):
            "{" + elements.prefix(5).map(\.words).joined(separator: ", ") + (elements.count > 5 ? ", …}" : "}")
        }
    }
}
