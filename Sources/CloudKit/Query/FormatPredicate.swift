public import Foundation
import NephosWire

/// Not for use by name: it carries `NSPredicate`'s initialisers that take a format, which Foundation lacks here.
///
/// An initialiser in an extension of the class cannot give an object of a subclass; one in a protocol's extension can.
/// The protocol is public because public initialisers need a public place; nothing else is to conform to it.
public protocol _PredicateFormatting {}

extension NSPredicate: _PredicateFormatting {}

extension _PredicateFormatting {
    /// A predicate from a format such as `"year >= %d AND title BEGINSWITH %@"`, and the arguments for its
    /// placeholders: `%@` for values, `%K` for the names of fields, `%d`, `%f` and the like for numbers.
    ///
    /// Stops the program, as Apple's framework does, where the format cannot be parsed.
    public init(format: String, _ arguments: Any?...) {
        self.init(checking: format, arguments)
    }

    /// A predicate from a format and the arguments for its placeholders.
    ///
    /// Stops the program, as Apple's framework does, where the format cannot be parsed.
    public init(format: String, argumentArray: [Any?]?) {
        self.init(checking: format, argumentArray ?? [])
    }

    /// The predicate with these values in the place of its variables (`$name`), which Foundation lacks here.
    ///
    /// A variable without a value stays; a query with it is refused.
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

/// A predicate that knows what it asks for. Equal are those that ask for the same.
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
    /// The predicate that asks for `tree`.
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

    /// The predicate as a tree.
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
            // Foundation tells a constant predicate from a block only by comparing.
            if isEqual(NSPredicate(value: true)) { return .constant(true) }
            if isEqual(NSPredicate(value: false)) { return .constant(false) }
            return .block
        }
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
