public import Foundation
import NephosWire

/// What `evaluate(with:)` is given to get a predicate's expression back out of its block: Foundation's predicates hold
/// nothing else of ours.
private final class PredicateProbe {
    var expression: PredicateTree?
}

extension NSPredicate {
    /// A predicate from a format such as `"year >= %d AND title BEGINSWITH %@"`, and the arguments for its
    /// placeholders: `%@` for values, `%K` for the names of fields, `%d`, `%f` and the like for numbers.
    ///
    /// Stops the program, as Apple's framework does, where the format cannot be parsed.
    public convenience init(format: String, _ arguments: Any?...) {
        self.init(checking: format, arguments)
    }

    /// A predicate from a format and the arguments for its placeholders.
    ///
    /// Stops the program, as Apple's framework does, where the format cannot be parsed.
    public convenience init(format: String, argumentArray: [Any?]?) {
        self.init(checking: format, argumentArray ?? [])
    }

    private convenience init(checking format: String, _ arguments: [Any?]) {
        do throws(PredicateFormatError) {
            self.init(try PredicateTree(format: format, objects: arguments))
        } catch {
            preconditionFailure(error.description)
        }
    }

    /// A predicate that evaluates `expression`.
    convenience init(_ expression: PredicateTree) {
        let evaluation = PredicateEvaluation(expression)
        self.init { object, variables in
            if let probe = object as? PredicateProbe {
                probe.expression = expression
                return false
            }
            return evaluation.evaluate(with: object, variables: variables ?? [:])
        }
    }

    /// The predicate as a tree.
    var expression: PredicateTree { expression(depth: 0) }

    private func expression(depth: Int) -> PredicateTree {
        precondition(
            depth <= PredicateTree.depthLimit,
            "NSPredicate: the predicate nests deeper than \(PredicateTree.depthLimit) levels.")
        if let compound = self as? NSCompoundPredicate {
            let parts = compound.subpredicates.map { $0.expression(depth: depth + 1) }
            switch compound.compoundPredicateType {
            case .and: return .and(parts)
            case .or: return .or(parts)
            case .not: return .not(parts.count == 1 ? parts[0] : .and(parts))
            @unknown default: return .block
            }
        }
        // Foundation tells a constant predicate from a block only by comparing.
        if isEqual(NSPredicate(value: true)) { return .constant(true) }
        if isEqual(NSPredicate(value: false)) { return .constant(false) }
        let probe = PredicateProbe()
        _ = evaluate(with: probe)
        return probe.expression ?? .block
    }
}

extension PredicateTree {
    /// Parses a predicate's format with the arguments that a program gives.
    init(format: String, objects: [Any?]) throws(PredicateFormatError) {
        try self.init(format: format, arguments: objects.map { PredicateValue($0) })
    }
}

/// Predicates without their exceptions, for tools and tests.
package enum PredicateFormat {
    /// What is wrong with a format; nil where `NSPredicate(format:argumentArray:)` takes it.
    package static func problem(in format: String, arguments: [Any?] = []) -> String? {
        do throws(PredicateFormatError) {
            _ = try PredicateTree(format: format, objects: arguments)
            return nil
        } catch {
            return error.description
        }
    }
}
