public import Foundation
import NephosWire

/// Provides the initializers of `NSPredicate` with a format, which Foundation lacks on this platform. Code does not
/// name this protocol.
///
/// An initializer in a class extension cannot return an instance of a subclass, but one in a protocol extension can.
/// The protocol is public because its initializers are. No other type may conform to it.
public protocol _PredicateFormatting {}

extension NSPredicate: _PredicateFormatting {}

extension _PredicateFormatting {
    /// Creates a predicate from a format, such as `"year >= %d AND title BEGINSWITH %@"`, and arguments for its
    /// placeholders: `%@` for values, `%K` for the names of fields, `%d`, `%f` and others for numbers.
    ///
    /// The program stops if the format is invalid, as with Apple's framework.
    public init(format: String, _ arguments: Any?...) {
        self.init(checking: format, arguments)
    }

    /// Creates a predicate from a format and an array of arguments for its placeholders; nil stands for an empty array.
    ///
    /// The program stops if the format is invalid, as with Apple's framework.
    public init(format: String, argumentArray: [Any?]?) {
        self.init(checking: format, argumentArray ?? [])
    }

    /// Returns the predicate with these values in place of its variables (`$name`). Foundation lacks this method on
    /// this platform.
    ///
    /// A variable without a value remains in the predicate. A query with such a predicate is refused.
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

/// A predicate that stores its syntax tree. Predicates with equal trees are equal.
private final class FormatPredicate: NSPredicate {
    let tree: PredicateTree

    init(_ tree: PredicateTree) {
        self.tree = tree
        let evaluation = PredicateEvaluation(tree)
        super.init { object, variables in evaluation.evaluate(with: object, variables: variables ?? [:]) }
    }

    // Predicates of Foundation cannot be archived here. A `CKQuery` archives its own predicate.
    required init?(coder: NSCoder) { nil }

    override var predicateFormat: String { PredicatePrinter.describe(tree) }
    override var description: String { PredicatePrinter.describe(tree) }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.tree == tree }
    override var hash: Int { tree.hashValue }
}

extension NSPredicate {
    /// Returns a predicate with this syntax tree.
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
            // Only a comparison distinguishes a constant predicate of Foundation from a block.
            if isEqual(NSPredicate(value: true)) { return .constant(true) }
            if isEqual(NSPredicate(value: false)) { return .constant(false) }
            return .block
        }
    }
}

extension PredicateTree {
    /// Parses the format of a predicate, with the arguments of a program.
    init(format: String, objects: [Any?]) throws(PredicateFormatError) {
        try self.init(format: format, arguments: objects.map { PredicateValue($0) })
    }
}

/// Checks of predicate formats for tools and tests. Errors are values instead of exceptions.
package enum PredicateFormat {
    /// Returns the error in a format; nil if `NSPredicate(format:argumentArray:)` accepts the format.
    package static func problem(in format: String, arguments: [Any?] = []) -> String? {
        do throws(PredicateFormatError) {
            _ = try PredicateTree(format: format, objects: arguments)
            return nil
        } catch {
            return error.description
        }
    }
}
