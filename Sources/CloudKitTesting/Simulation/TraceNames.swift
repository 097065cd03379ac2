import Foundation

/// Numbers identifiers as they appear, so that runs with other ones have the same trace.
struct TraceNames {
    private var numbers: [String: Int] = [:]

    /// Returns the text with a number instead of each UUID.
    mutating func numbered(_ text: String) -> String {
        guard text.utf8.count >= 36 else { return text }
        var result = ""
        var rest = text[...]
        while let range = rest.range(of: Self.pattern, options: .regularExpression) {
            let number = numbers[String(rest[range])] ?? numbers.count + 1
            numbers[String(rest[range])] = number
            result += rest[..<range.lowerBound] + "#\(number)"
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    private static let pattern = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
}
