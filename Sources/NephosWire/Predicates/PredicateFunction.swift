/// The functions that a predicate's format can call.
package enum PredicateFunction: String, CaseIterable {
    case now
    case distance = "distanceToLocation:fromLocation:"
    case tokenize = "tokenize:using:"
    case cast = "CAST"
    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case raise = "raise:toPower:"
    case abs = "abs:"
    case ceiling = "ceiling:"
    case floor = "floor:"
    case truncate = "trunc:"
    case squareRoot = "sqrt:"
    case lowercase = "lowercase:"
    case uppercase = "uppercase:"
    case length = "length:"
    case count = "count:"

    /// Finds a function by its name with or without colons: `now()`, `tokenize(a, b)`, `tokenize:using:(a, b)`.
    init?(_ name: String) {
        guard let function = Self.byName[name] else { return nil }
        self = function
    }

    private static let byName: [String: PredicateFunction] = {
        var names = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
        for function in allCases where function.argumentCount == 1 {
            names[String(function.rawValue.dropLast())] = function
        }
        names["tokenize"] = .tokenize
        names["now:"] = .now
        return names
    }()

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    var argumentCount: Int {
        switch self {
        case .now: 0
        case .abs, .ceiling, .floor, .truncate, .squareRoot, .lowercase, .uppercase, .length, .count: 1
        case .distance, .tokenize, .cast, .add, .subtract, .multiply, .divide, .raise: 2
        }
    }
}
