import NephosWire

/// The records that an import leaves out, as records are missing to which they refer.
struct SkippedOrphans {
    /// How many are printed.
    private static let namedCount = 10

    private var count = 0
    private var named: [String] = []

    mutating func note(_ operation: NumberedOperation) {
        count += 1
        guard named.count < Self.namedCount else { return }
        named.append("\(Console.printable(operation.operation.record.recordName ?? "")) (line \(operation.line))")
    }

    /// Prints how many were left out, and the first of them.
    func report() {
        if count == 0 { return }
        let more = count > named.count ? " and \(count - named.count) more" : ""
        Console.note(
            "\(count) records are left out, as they refer to records that are missing: "
                + named.joined(separator: ", ") + more)
    }
}
