/// What a predicate's format says, as a tree. `CKQuery` and local evaluation both start from it.
indirect enum PredicateExpression: Hashable, Sendable {
    /// `TRUEPREDICATE`, `FALSEPREDICATE`
    case constant(Bool)
    case comparison(PredicateComparison)
    case and([PredicateExpression])
    case or([PredicateExpression])
    case not(PredicateExpression)
    /// A predicate that only code knows: `NSPredicate(block:)`.
    case block

    /// How deeply predicates may nest, so that walking them is safe with any stack.
    static let depthLimit = 100

    /// The expression with every `NOT` moved down to single comparisons, and an ordering that is negated turned round:
    /// `NOT (a < 5)` asks for `a >= 5`, and so not for records without `a`.
    var pushingNegations: PredicateExpression { pushingNegations(negated: false) }

    private func pushingNegations(negated: Bool) -> PredicateExpression {
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

/// `ANY tags ==[c] "red"`
struct PredicateComparison: Hashable, Sendable {
    enum Modifier: String, Sendable {
        case direct = ""
        case any = "ANY "
        case all = "ALL "
        case none = "NONE "
    }

    enum Operator: String, Sendable {
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

        /// The operator that says the same with the sides exchanged.
        var mirrored: Operator? {
            switch self {
            case .equals, .notEquals: self
            case .lessThan: .greaterThan
            case .lessThanOrEquals: .greaterThanOrEquals
            case .greaterThan: .lessThan
            case .greaterThanOrEquals: .lessThanOrEquals
            default: nil
            }
        }

        var oppositeOrdering: Operator? {
            switch self {
            case .lessThan: .greaterThanOrEquals
            case .lessThanOrEquals: .greaterThan
            case .greaterThan: .lessThanOrEquals
            case .greaterThanOrEquals: .lessThan
            default: nil
            }
        }
    }

    /// The letters in brackets behind an operator.
    struct Options: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let caseInsensitive = Options(rawValue: 1)
        static let diacriticInsensitive = Options(rawValue: 2)
        static let normalized = Options(rawValue: 4)
        static let localeSensitive = Options(rawValue: 8)
    }

    var modifier = Modifier.direct
    var left: PredicateOperand
    var `operator`: Operator
    var options: Options = []
    var right: PredicateOperand

    /// `a >= 5` for `a < 5`; nil for all but orderings, and for distances, which have no other side.
    var oppositeOrdering: PredicateComparison? {
        guard modifier == .direct, !left.isDistance, !right.isDistance, let opposite = self.operator.oppositeOrdering
        else { return nil }
        var result = self
        result.operator = opposite
        return result
    }
}

/// One side of a comparison.
indirect enum PredicateOperand: Hashable, Sendable {
    case constant(PredicateValue)
    /// A field, or a path of keys with dots.
    case key(String)
    /// `self`
    case evaluatedObject
    /// `{a, b}` with something in it that is not constant.
    case list([PredicateOperand])
    /// By its name with colons: `now`, `distanceToLocation:fromLocation:`, ….
    case function(String, [PredicateOperand])
    /// `$name`
    case variable(String)

    static let distanceFunction = "distanceToLocation:fromLocation:"

    var isDistance: Bool {
        if case .function(Self.distanceFunction, _) = self { true } else { false }
    }

    var constantValue: PredicateValue? {
        if case .constant(let value) = self { value } else { nil }
    }
}
