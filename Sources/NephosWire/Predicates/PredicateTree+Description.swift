import FoundationEssentials

/// Prints predicates in the form of Apple's `predicateFormat`.
///
/// In a description, constants without a literal (references, locations, data) are printed in words. In an archive, all
/// constants become placeholders, and their values are returned separately.
package struct PredicatePrinter {
    private var text = ""
    /// The values of the placeholders; nil to print constants as literals.
    private var arguments: [PredicateValue]?

    package static func describe(_ expression: PredicateTree) -> String {
        var printer = PredicatePrinter(arguments: nil)
        printer.print(expression)
        return printer.text
    }

    package static func describe(_ comparison: PredicateComparison) -> String { describe(.comparison(comparison)) }

    /// Returns a format and its arguments, which the parser parses to the same expression; nil if the expression
    /// contains a block.
    package static func archive(_ expression: PredicateTree) -> (format: String, arguments: [PredicateValue])? {
        guard !expression.containsBlock else { return nil }
        var printer = PredicatePrinter(arguments: [])
        printer.print(expression)
        return (printer.text, printer.arguments ?? [])
    }

    private init(arguments: [PredicateValue]?) { self.arguments = arguments }

    private mutating func print(_ expression: PredicateTree) {
        switch expression {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): print(comparison)
        case .and(let parts): join(parts, " AND ", ifEmpty: "TRUEPREDICATE")
        case .or(let parts): join(parts, " OR ", ifEmpty: "FALSEPREDICATE")
        case .not(let inner):
            text += "NOT "
            printPart(inner)
        case .block: text += "BLOCKPREDICATE"
        }
    }

    private mutating func join(_ parts: [PredicateTree], _ separator: String, ifEmpty: String) {
        if parts.isEmpty { text += ifEmpty }
        for (index, part) in parts.enumerated() {
            if index > 0 { text += separator }
            printPart(part)
        }
    }

    private mutating func printPart(_ part: PredicateTree) {
        switch part {
        case .constant, .comparison, .block: print(part)
        case .and, .or, .not:
            text += "("
            print(part)
            text += ")"
        }
    }

    private mutating func print(_ comparison: PredicateComparison) {
        text += comparison.modifier.rawValue
        print(comparison.left)
        text += " " + comparison.operator.rawValue
        let options = comparison.options.letters
        if !options.isEmpty { text += "[\(options)]" }
        text += " "
        print(comparison.right)
    }

    private mutating func print(_ operand: PredicateOperand) {
        switch operand {
        case .constant(let value): print(value)
        case .key(let key): print(key: key)
        case .evaluatedObject: text += "SELF"
        case .variable(let name): text += "$" + name
        case .list(let elements):
            text += "{"
            print(elements)
            text += "}"
        case .function(let name, let operands):
            if let symbol = Self.infix[name], operands.count == 2 {
                text += "("
                print(operands[0])
                text += " \(symbol) "
                print(operands[1])
                text += ")"
            } else {
                text += name + "("
                print(operands)
                text += ")"
            }
        }
    }

    private static let infix = [
        "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toPower:": "**",
    ]

    private mutating func print(_ operands: [PredicateOperand]) {
        for (index, operand) in operands.enumerated() {
            if index > 0 { text += ", " }
            print(operand)
        }
    }

    /// Prints a key. If a format cannot contain the key verbatim, the key becomes an argument in an archive, and is
    /// printed verbatim in a description.
    private mutating func print(key: String) {
        guard arguments == nil else {
            text += "%K"
            arguments?.append(.string(key))
            return
        }
        text += PredicateKeyword.named(key) == nil ? key : "#" + key
    }

    private mutating func print(_ value: PredicateValue) {
        guard arguments == nil else {
            text += "%@"
            arguments?.append(value)
            return
        }
        switch value {
        case .null: text += "nil"
        case .string(let value): text += Self.quoted(value)
        case .bool(let value): text += value ? "1" : "0"
        case .integer(let value): text += "\(value)"
        case .unsigned(let value): text += "\(value)"
        case .double(let value): text += "\(value)"
        case .date(let value): text += "CAST(\(value.timeIntervalSinceReferenceDate), \"NSDate\")"
        case .list(let values):
            text += "{"
            for (index, value) in values.prefix(20).enumerated() {
                if index > 0 { text += ", " }
                print(value)
            }
            text += values.count > 20 ? ", …}" : "}"
        case .reference(let reference): text += "<reference to \(reference.recordName)>"
        case .recordID(let id): text += "<record ID \(id.recordName)>"
        case .location(let location):
            text += "<location \(location.latitude), \(location.longitude)>"
        case .data(let data): text += "<\(data.count) bytes of data>"
        case .asset, .unsupported: text += "<\(value.kind)>"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension PredicateComparison.Options {
    var letters: String {
        (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
            + (contains(.normalized) ? "n" : "") + (contains(.localeSensitive) ? "l" : "")
    }
}

extension PredicateTree {
    var containsBlock: Bool {
        switch self {
        case .block: true
        case .constant, .comparison: false
        case .not(let inner): inner.containsBlock
        case .and(let parts), .or(let parts): parts.contains(where: \.containsBlock)
        }
    }
}
