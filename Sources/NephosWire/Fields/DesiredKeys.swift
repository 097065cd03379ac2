/// Names of fields, prepared for lookups in many records.
package struct DesiredKeys: Hashable, Sendable {
    /// The fields' names in UTF-8 order, without duplicates.
    private let names: [String]

    package init(_ names: [String]) {
        var ordered: [String] = []
        for name in names.sorted(by: { $0.utf8Order(comparedTo: $1) < 0 }) {
            if let last = ordered.last, last.utf8Order(comparedTo: name) == 0 { continue }
            ordered.append(name)
        }
        self.names = ordered
    }

    /// Returns whether the desired keys contain a name. `order` compares that name with the name passed to it.
    func contains(order: (UnsafeRawBufferPointer) -> Int) -> Bool {
        var low = 0
        var high = names.count
        while low < high {
            let middle = (low + high) / 2
            let result = names[middle].withUTF8Bytes(order)
            if result == 0 { return true }
            if result > 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
