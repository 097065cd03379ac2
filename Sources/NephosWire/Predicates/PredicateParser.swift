/// Parses predicate formats (Apple's Predicate Programming Guide, Predicate Format String Syntax) by recursive descent
/// without backtracking, in time linear in the format's length.
package struct PredicateParser {
    private var lexer: PredicateLexer
    private var token = PredicateToken.end
    private var depth = 0
    /// The number of steps done: tokens read and nodes created.
    package private(set) var steps = 0

    /// A parsed condition or value. One type represents both, because an opening parenthesis does not show which of
    /// them follows.
    private enum Node {
        case condition(PredicateTree)
        case operand(PredicateOperand)
    }

    package init(_ format: String, _ arguments: [PredicateValue]) {
        lexer = PredicateLexer(format, arguments)
    }

    package mutating func parse() throws(PredicateFormatError) -> PredicateTree {
        try advance()
        let expression = try condition(try disjunction())
        guard token == .end else { throw failure("AND, OR or the end") }
        return expression
    }

    // MARK: Tokens

    private mutating func advance() throws(PredicateFormatError) {
        steps += 1
        token = try lexer.next()
    }

    private func failure(_ expected: String) -> PredicateFormatError {
        lexer.failure(expected, at: lexer.tokenStart)
    }

    private mutating func expect(_ symbol: PredicateToken.Symbol, _ expected: String) throws(PredicateFormatError) {
        guard token == .symbol(symbol) else { throw failure(expected) }
        try advance()
    }

    private mutating func nest() throws(PredicateFormatError) {
        depth += 1
        guard depth <= PredicateTree.depthLimit else {
            throw failure("at most \(PredicateTree.depthLimit) levels of nesting")
        }
    }

    // MARK: Conditions

    private func condition(_ node: Node) throws(PredicateFormatError) -> PredicateTree {
        guard case .condition(let expression) = node else {
            throw failure("a comparison operator (==, !=, <, <=, >, >=, IN, CONTAINS, BEGINSWITH, BETWEEN, …)")
        }
        return expression
    }

    private func operand(_ node: Node) throws(PredicateFormatError) -> PredicateOperand {
        guard case .operand(let operand) = node else { throw failure("AND, OR or the end of the condition") }
        return operand
    }

    private mutating func disjunction() throws(PredicateFormatError) -> Node {
        let first = try conjunction()
        guard token == .keyword(.or) || token == .symbol(.or) else { return first }
        var parts = [try condition(first)]
        while token == .keyword(.or) || token == .symbol(.or) {
            try advance()
            parts.append(try condition(try conjunction()))
        }
        return .condition(.or(parts))
    }

    private mutating func conjunction() throws(PredicateFormatError) -> Node {
        let first = try negation()
        guard token == .keyword(.and) || token == .symbol(.and) else { return first }
        var parts = [try condition(first)]
        while token == .keyword(.and) || token == .symbol(.and) {
            try advance()
            parts.append(try condition(try negation()))
        }
        return .condition(.and(parts))
    }

    private mutating func negation() throws(PredicateFormatError) -> Node {
        guard token == .keyword(.not) || token == .symbol(.not) else { return try comparison() }
        try nest()
        defer { depth -= 1 }
        try advance()
        return .condition(.not(try condition(try negation())))
    }

    private mutating func comparison() throws(PredicateFormatError) -> Node {
        var modifier = PredicateComparison.Modifier.direct
        switch token {
        case .keyword(.any), .keyword(.some): modifier = .any
        case .keyword(.all): modifier = .all
        case .keyword(.none): modifier = .none
        default: break
        }
        if modifier != .direct { try advance() }
        let left = try sum()
        guard let operation = comparisonOperator else {
            guard token != .keyword(.not) else { throw failure("an operator (write NOT (a IN b) for a NOT IN b)") }
            guard modifier == .direct else { throw failure("a comparison operator after the value") }
            return left
        }
        let leftOperand = try operand(left)
        let options = try lexer.options()
        try advance()
        guard case .operand(let right) = try sum() else { throw failure("a value") }
        steps += 1
        let comparison = PredicateComparison(
            modifier: modifier, left: leftOperand, operator: operation, options: options, right: right)
        return .condition(.comparison(comparison))
    }

    private var comparisonOperator: PredicateComparison.Operator? {
        switch token {
        case .symbol(.equals): .equals
        case .symbol(.notEquals): .notEquals
        case .symbol(.lessThan): .lessThan
        case .symbol(.lessThanOrEquals): .lessThanOrEquals
        case .symbol(.greaterThan): .greaterThan
        case .symbol(.greaterThanOrEquals): .greaterThanOrEquals
        case .keyword(.between): .between
        case .keyword(.in): .in
        case .keyword(.contains): .contains
        case .keyword(.beginswith): .beginsWith
        case .keyword(.endswith): .endsWith
        case .keyword(.like): .like
        case .keyword(.matches): .matches
        case .keyword(.tokenmatches): .tokenMatches
        default: nil
        }
    }

    // MARK: Values

    private mutating func sum() throws(PredicateFormatError) -> Node {
        try chain([.plus: "add:to:", .minus: "from:subtract:"]) { (parser) throws(PredicateFormatError) in
            try parser.product()
        }
    }

    private mutating func product() throws(PredicateFormatError) -> Node {
        try chain([.times: "multiply:by:", .divided: "divide:by:"]) { (parser) throws(PredicateFormatError) in
            try parser.power()
        }
    }

    private mutating func power() throws(PredicateFormatError) -> Node {
        try chain([.power: "raise:toPower:"]) { (parser) throws(PredicateFormatError) in try parser.signed() }
    }

    /// Parses a chain of left-associative operators with equal precedence.
    private mutating func chain(
        _ functions: [PredicateToken.Symbol: String],
        _ part: (inout PredicateParser) throws(PredicateFormatError) -> Node
    ) throws(PredicateFormatError) -> Node {
        let first = try part(&self)
        var length = 0
        guard case .symbol(let symbol) = token, functions[symbol] != nil else { return first }
        var result = try operand(first)
        while case .symbol(let symbol) = token, let function = functions[symbol] {
            length += 1
            guard length <= PredicateTree.depthLimit else {
                throw failure("at most \(PredicateTree.depthLimit) operations")
            }
            try advance()
            let next = try operand(try part(&self))
            steps += 1
            result = .function(function, [result, next])
        }
        return .operand(result)
    }

    private mutating func signed() throws(PredicateFormatError) -> Node {
        guard token == .symbol(.minus) || token == .symbol(.plus) else { return try primary() }
        let isNegative = token == .symbol(.minus)
        try nest()
        defer { depth -= 1 }
        try advance()
        let operand = try operand(try signed())
        guard isNegative else { return .operand(operand) }
        switch operand.constantValue {
        case .integer(let value) where value != .min: return .operand(.constant(.integer(-value)))
        case .double(let value): return .operand(.constant(.double(-value)))
        default: return .operand(.function("from:subtract:", [.constant(.integer(0)), operand]))
        }
    }

    private mutating func primary() throws(PredicateFormatError) -> Node {
        let current = token
        switch current {
        case .symbol(.openParenthesis): return try parenthesized()
        case .symbol(.openBrace): return .operand(try list())
        case .string(let text): return try take(.constant(.string(text)))
        case .number(let value): return try take(.constant(value))
        case .argument(let operand): return try take(operand)
        case .variable(let name): return try take(.variable(name))
        case .keyword(let keyword): return try primary(keyword)
        case .selector(let name):
            try advance()
            return .operand(try call(name))
        case .identifier(let name):
            try advance()
            guard token == .symbol(.openParenthesis) else {
                if token == .symbol(.openBracket) { throw failure("an operator: elements cannot be chosen by index") }
                return .operand(.key(name))
            }
            return .operand(try call(name))
        case .symbol, .end: throw failure("a key or a value")
        }
    }

    private mutating func take(_ operand: PredicateOperand) throws(PredicateFormatError) -> Node {
        steps += 1
        try advance()
        return .operand(operand)
    }

    private mutating func primary(_ keyword: PredicateKeyword) throws(PredicateFormatError) -> Node {
        switch keyword {
        case .truepredicate, .falsepredicate:
            try advance()
            return .condition(.constant(keyword == .truepredicate))
        case .true, .yes: return try take(.constant(.bool(true)))
        case .false, .no: return try take(.constant(.bool(false)))
        case .nil, .null: return try take(.constant(.null))
        case .`self`: return try take(.evaluatedObject)
        case .cast:
            try advance()
            return .operand(try call("CAST"))
        case .subquery: throw failure("a key or a value: SUBQUERY is not supported")
        default: throw failure("a key or a value (give a field of this name as an argument of %K, or as #name)")
        }
    }

    private mutating func parenthesized() throws(PredicateFormatError) -> Node {
        try nest()
        defer { depth -= 1 }
        try advance()
        let node = try disjunction()
        guard token != .symbol(.comma) else { throw failure("\")\" (a list of values stands in braces: {a, b})") }
        try expect(.closeParenthesis, "\")\"")
        return node
    }

    private mutating func list() throws(PredicateFormatError) -> PredicateOperand {
        let elements = try operands(until: .closeBrace, "\"}\"")
        let constants = elements.compactMap(\.constantValue)
        return constants.count == elements.count ? .constant(.list(constants)) : .list(elements)
    }

    /// Parses comma-separated operands between the opening symbol here and the closing one.
    private mutating func operands(
        until close: PredicateToken.Symbol, _ expected: String
    ) throws(PredicateFormatError) -> [PredicateOperand] {
        try nest()
        defer { depth -= 1 }
        try advance()
        var operands: [PredicateOperand] = []
        while token != .symbol(close) {
            if !operands.isEmpty { try expect(.comma, "\",\" or \(expected)") }
            guard case .operand(let operand) = try sum() else { throw failure("a value") }
            operands.append(operand)
        }
        try advance()
        return operands
    }

    private mutating func call(_ name: String) throws(PredicateFormatError) -> PredicateOperand {
        guard token == .symbol(.openParenthesis) else { throw failure("\"(\" after the function \(name)") }
        let start = lexer.tokenStart
        let arguments = try operands(until: .closeParenthesis, "\")\"")
        steps += 1
        guard let function = PredicateFunction(name) else {
            throw lexer.failure("a known function (\(PredicateFunction.names))", found: name, at: start)
        }
        guard arguments.count == function.argumentCount else {
            throw lexer.failure(
                "\(function.argumentCount) arguments of \(name)", found: "\(arguments.count)", at: start)
        }
        return .function(function.rawValue, arguments)
    }
}

extension PredicateTree {
    /// Parses a predicate's format, with the values for its placeholders.
    package init(format: String, arguments: [PredicateValue] = []) throws(PredicateFormatError) {
        var parser = PredicateParser(format, arguments)
        self = try parser.parse()
    }
}
