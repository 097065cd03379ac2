public import Foundation
import NephosWire

/// Not for use by name: provides `NSPredicate`'s initialisers with a format, which Foundation lacks here.
///
/// An initialiser in a class extension cannot return an instance of a subclass; one in a protocol extension can. The
/// protocol is public because its initialisers are. No other type may conform to it.
public protocol _PredicateFormatting {}

extension NSPredicate: _PredicateFormatting {}

extension _PredicateFormatting {
    /// A predicate from a format such as `"year >= %d AND title BEGINSWITH %@"`, and the arguments for its
    /// placeholders: `%@` for values, `%K` for the names of fields, `%d`, `%f` and the like for numbers.
    ///
    /// Stops the program, as Apple's framework does, if the format is invalid.
    public init(format: String, _ arguments: Any?...) {
        self.init(checking: format, arguments)
    }

    /// A predicate from a format and the arguments for its placeholders.
    ///
    /// Stops the program, as Apple's framework does, if the format is invalid.
    public init(format: String, argumentArray: [Any?]?) {
        self.init(checking: format, argumentArray ?? [])
    }

    /// Returns the predicate with its variables (`$name`) replaced by these values. Foundation lacks this method here.
    ///
    /// A variable without a value remains, and a query with one is refused.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> Self {
        guard let predicate = self as? NSPredicate,
            let substituted = predicate.substituting({ name in variables[name].map { PredicateValue($0) } }) as? Self
        else { return self }
        return substituted
    }

    private init(checking format: String, _ arguments: [Any?]) {
        do throws(PredicateFormatError) {
            let predicate = NSPredicate.matching(try PredicateTree(format: format, objects: arguments))
            guard let predicate = predicate as? Self else {
                raise("\(Self.self) has no format: NSPredicate has.")
            }
            self = predicate
        } catch {
            raise(error.description)
        }
    }
}

/// A predicate with its syntax tree. Predicates with equal trees are equal.
private final class FormatPredicate: NSPredicate {
    let tree: PredicateTree

    init(_ tree: PredicateTree) {
        self.tree = tree
        let evaluation = PredicateEvaluation(tree)
        super.init { object, variables in evaluation.evaluate(with: object, variables: variables ?? [:]) }
    }

    // Foundation's predicates cannot be archived here; a `CKQuery` archives its own.
    required init?(coder: NSCoder) { nil }

    override var predicateFormat: String { PredicatePrinter.describe(tree) }
    override var description: String { PredicatePrinter.describe(tree) }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.tree == tree }
    override var hash: Int { tree.hashValue }
}

extension NSPredicate {
    /// Returns the predicate for a syntax tree.
    static func matching(_ tree: PredicateTree) -> NSPredicate {
        if case .constant(let value) = tree { return NSPredicate(value: value) }
        return FormatPredicate(tree)
    }

    fileprivate func substituting(_ value: (String) -> PredicateValue?) -> NSPredicate {
        switch self {
        case let predicate as FormatPredicate: .matching(predicate.tree.replacingVariables(value))
        case let compound as NSCompoundPredicate:
            NSCompoundPredicate(
                type: compound.compoundPredicateType,
                subpredicates: compound.subpredicates.map { $0.substituting(value) })
        default: self
        }
    }

    /// The predicate's syntax tree.
    var expression: PredicateTree { expression(depth: 0) }

    private func expression(depth: Int) -> PredicateTree {
        raise(
            unless: depth <= PredicateTree.depthLimit,
            "NSPredicate: the predicate nests deeper than \(PredicateTree.depthLimit) levels.")
        switch self {
        case let predicate as FormatPredicate:
            return predicate.tree
        case let compound as NSCompoundPredicate:
            let parts = compound.subpredicates.map { $0.expression(depth: depth + 1) }
            switch compound.compoundPredicateType {
            case .and: return .and(parts)
            case .or: return .or(parts)
            case .not: return .not(parts.count == 1 ? parts[0] : .and(parts))
            @unknown default: return .block
            }
        default:
            // Foundation distinguishes a constant predicate from a block only by comparison.
            if isEqual(NSPredicate(value: true)) { return .constant(true) }
            if isEqual(NSPredicate(value: false)) { return .constant(false) }
            return .block
        }
    }
}

extension PredicateTree {
    /// Parses a predicate's format with a program's arguments.
    init(format: String, objects: [Any?]) throws(PredicateFormatError) {
        try self.init(format: format, arguments: objects.map { PredicateValue($0) })
    }
}

/// Predicate formats with errors as values instead of exceptions, for tools and tests.
package enum PredicateFormat {
    /// Returns the error in a format; nil if `NSPredicate(format:argumentArray:)` accepts it.
    package static func problem(in format: String, arguments: [Any?] = []) -> String? {
        do throws(PredicateFormatError) {
            _ = try PredicateTree(format: format, objects: arguments)
            return nil
        } catch {
            return error.description
        }
    }
}
