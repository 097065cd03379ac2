import Foundation

/// Numbers identifiers as they appear, so that runs with other ones have the same trace.
struct TraceNames {
    private var numbers: [String: Int] = [:]
    /// How many identifiers were forgotten.
    private var before = 0
    private static let longest = 10_000

    /// Returns the text with a number instead of each UUID.
    mutating func numbered(_ text: String) -> String {
        guard text.utf8.count >= 36 else { return text }
        // In a long simulation, an identifier that appears again after so many others gets another number.
        if numbers.count > Self.longest { (numbers, before) = ([:], before + numbers.count) }
        var result = ""
        var rest = text[...]
        while let range = rest.range(of: Self.pattern, options: .regularExpression) {
            let number = numbers[String(rest[range])] ?? before + numbers.count + 1
            numbers[String(rest[range])] = number
            result += rest[..<range.lowerBound] + "#\(number)"
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// Returns changes of items, sorted by the numbers of the items in the trace, then by value. Random identifiers do not change
    /// the order.
    func sorted(_ changes: [String: String?]) -> [(item: String, value: String?)] {
        func key(_ change: (key: String, value: String?)) -> (Int, String, String) {
            (numbers[change.key] ?? .max, change.value ?? "", change.key)
        }
        return changes.sorted { key($0) < key($1) }.map { ($0.key, $0.value) }
    }

    private static let pattern = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
}
