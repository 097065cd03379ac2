/// The syntax tree of a predicate, which `CKQuery` converts and local evaluation evaluates.
package indirect enum PredicateTree: Hashable, Sendable {
    /// `TRUEPREDICATE`, `FALSEPREDICATE`
    case constant(Bool)
    case comparison(PredicateComparison)
    case and([PredicateTree])
    case or([PredicateTree])
    case not(PredicateTree)
    /// A predicate whose condition is a closure: `NSPredicate(block:)`.
    case block

    /// The maximum number of nested levels per predicate, so that recursion over them needs little stack.
    package static let depthLimit = 100

    /// Returns the expression with variables (`$name`) replaced by their values. A variable without a value remains.
    package func replacingVariables(_ value: (String) -> PredicateValue?) -> PredicateTree {
        switch self {
        case .constant, .block: return self
        case .comparison(var comparison):
            comparison.left = comparison.left.replacingVariables(value)
            comparison.right = comparison.right.replacingVariables(value)
            return .comparison(comparison)
        case .and(let parts): return .and(parts.map { $0.replacingVariables(value) })
        case .or(let parts): return .or(parts.map { $0.replacingVariables(value) })
        case .not(let inner): return .not(inner.replacingVariables(value))
        }
    }

    /// The expression in negation normal form: every `NOT` applies to a single comparison. A negated ordering becomes
    /// the opposite ordering: `NOT (a < 5)` becomes `a >= 5`, and so does not match records without `a`.
    package var pushingNegations: PredicateTree { pushingNegations(negated: false) }

    private func pushingNegations(negated: Bool) -> PredicateTree {
        switch self {
        case .constant(let value): .constant(value != negated)
        case .comparison(let comparison):
            if !negated {
                self
            } else if let opposite = comparison.oppositeOrdering {
                .comparison(opposite)
            } else {
                .not(self)
            }
        case .and(let parts):
            negated
                ? .or(parts.map { $0.pushingNegations(negated: true) })
                : .and(parts.map { $0.pushingNegations(negated: false) })
        case .or(let parts):
            negated
                ? .and(parts.map { $0.pushingNegations(negated: true) })
                : .or(parts.map { $0.pushingNegations(negated: false) })
        case .not(let inner): inner.pushingNegations(negated: !negated)
        case .block: negated ? .not(self) : self
        }
    }
}

/// A comparison of two operands, such as `ANY tags ==[c] "red"`.
package struct PredicateComparison: Hashable, Sendable {
    package enum Modifier: String, Sendable {
        case direct = ""
        case any = "ANY "
        case all = "ALL "
        case none = "NONE "
    }

    package enum Operator: String, Sendable {
        case equals = "=="
        case notEquals = "!="
        case lessThan = "<"
        case lessThanOrEquals = "<="
        case greaterThan = ">"
        case greaterThanOrEquals = ">="
        case between = "BETWEEN"
        case `in` = "IN"
        case contains = "CONTAINS"
        case beginsWith = "BEGINSWITH"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
        case matches = "MATCHES"
        case tokenMatches = "TOKENMATCHES"

        /// The equivalent operator for exchanged operands.
        package var mirrored: Operator? {
            switch self {
            case .equals, .notEquals: self
            case .lessThan: .greaterThan
            case .lessThanOrEquals: .greaterThanOrEquals
            case .greaterThan: .lessThan
            case .greaterThanOrEquals: .lessThanOrEquals
            default: nil
            }
        }

        package var oppositeOrdering: Operator? {
            switch self {
            case .lessThan: .greaterThanOrEquals
            case .lessThanOrEquals: .greaterThan
            case .greaterThan: .lessThanOrEquals
            case .greaterThanOrEquals: .lessThan
            default: nil
            }
        }
    }

    /// The options of an operator: the letters in brackets after it.
    package struct Options: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let caseInsensitive = Options(rawValue: 1)
        package static let diacriticInsensitive = Options(rawValue: 2)
        package static let normalized = Options(rawValue: 4)
        package static let localeSensitive = Options(rawValue: 8)
    }

    package var modifier: Modifier
    package var left: PredicateOperand
    package var `operator`: Operator
    package var options: Options
    package var right: PredicateOperand

    package init(
        modifier: Modifier = .direct, left: PredicateOperand, operator: Operator, options: Options = [],
        right: PredicateOperand
    ) {
        self.modifier = modifier
        self.left = left
        self.operator = `operator`
        self.options = options
        self.right = right
    }

    /// The comparison with the opposite ordering, such as `a >= 5` for `a < 5`. Nil for operators other than orderings,
    /// and for distances, for which no ordering is the complement.
    package var oppositeOrdering: PredicateComparison? {
        guard modifier == .direct, !left.isDistance, !right.isDistance, let opposite = self.operator.oppositeOrdering
        else { return nil }
        var result = self
        result.operator = opposite
        return result
    }
}

/// One side of a comparison.
package indirect enum PredicateOperand: Hashable, Sendable {
    case constant(PredicateValue)
    /// A field, or a path of keys with dots.
    case key(String)
    /// `self`: the evaluated object.
    case evaluatedObject
    /// A list with an element that is not constant: `{a, b}`.
    case list([PredicateOperand])
    /// A call of a function, by the function's name with colons: `now`, `distanceToLocation:fromLocation:`, ….
    case function(String, [PredicateOperand])
    /// A variable: `$name`.
    case variable(String)

    package static let distanceFunction = "distanceToLocation:fromLocation:"

    package var isDistance: Bool {
        if case .function(Self.distanceFunction, _) = self { true } else { false }
    }

    package var constantValue: PredicateValue? {
        if case .constant(let value) = self { value } else { nil }
    }

    fileprivate func replacingVariables(_ value: (String) -> PredicateValue?) -> PredicateOperand {
        switch self {
        case .constant, .key, .evaluatedObject: return self
        case .variable(let name): return value(name).map(PredicateOperand.constant) ?? self
        case .function(let name, let arguments):
            return .function(name, arguments.map { $0.replacingVariables(value) })
        case .list(let elements):
            let replaced = elements.map { $0.replacingVariables(value) }
            let constants = replaced.compactMap(\.constantValue)
            return constants.count == replaced.count ? .constant(.list(constants)) : .list(replaced)
        }
    }
}
