extension QueryExplanation {
    /// Returns the explanation as lines of plain text.
    /// - Parameter hasMore: whether the query has further pages.
    package func lines(hasMore: Bool) -> [String] {
        var lines = scans.map { scan in
            let index = scan.field.isEmpty ? "all records by name" : "\(scan.field) (\(scan.index))"
            return "index \(index): \(scan.range); \(Self.count(scan.entriesRead, "entry", "entries")) read"
        }
        if scans.isEmpty && recordsRead > 0 { lines.append("no index: the records were named") }
        lines += checkedOnRecords.map { "checked on records: \($0)" }
        if let helpfulIndex { lines.append("a schema with this line would answer more from an index: \(helpfulIndex)") }
        lines.append(
            "\(Self.count(entriesRead, "entry", "entries")) read, \(Self.count(recordsRead, "record", "records")) read, "
                + "\(Self.count(recordsReturned, "record", "records")) returned"
                + (hasMore ? ", and there are more" : ""))
        return lines
    }

    private static func count(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }
}
