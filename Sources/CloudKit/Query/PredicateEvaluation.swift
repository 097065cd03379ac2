import Foundation
import NephosWire

/// The evaluation of a predicate on an object in memory: a record, a dictionary or a value.
///
/// A record matches as it would in a query. Conditions that queries do not support (`LIKE`, `OR`, a key path,
/// `recordType`, …) work too, and otherwise follow the rules of queries: equality ignores case, and a record without
/// the field matches no ordering. On any other object, equality is exact unless `[c]` is given, as with Foundation's
/// own predicates.
struct PredicateEvaluation: Sendable {
    private let expression: PredicateTree
    /// The condition that a query would send; nil if no query supports the condition.
    private let matcher: QueryMatcher?

    /// - Parameter asksQueries: whether a condition that queries support is evaluated as a query evaluates it. If
    ///   false, every condition is evaluated by this type.
    init(_ expression: PredicateTree, asksQueries: Bool = true) {
        self.expression = expression.pushingNegations
        if !asksQueries || Self.dependsOnMoment(expression) {
            matcher = nil
        } else {
            matcher = (try? PredicateConversion.condition(of: expression, .extended)).map(QueryMatcher.init)
        }
    }

    /// Whether the condition depends on the time or on variables, or has a meaning that depends on the type of the
    /// field. For instance, `CONTAINS` searches a list or a string.
    private static func dependsOnMoment(_ expression: PredicateTree) -> Bool {
        switch expression {
        case .constant, .block: return false
        case .not(let inner): return dependsOnMoment(inner)
        case .and(let parts), .or(let parts): return parts.contains(where: dependsOnMoment)
        case .comparison(let comparison):
            if comparison.operator == .contains, case .key = comparison.left { return true }
            return isMomentary(comparison.left) || isMomentary(comparison.right)
        }
    }

    private static func isMomentary(_ operand: PredicateOperand) -> Bool {
        switch operand {
        case .function(PredicateFunction.now.rawValue, _), .key("now"), .variable: true
        case .function(_, let operands), .list(let operands): operands.contains(where: isMomentary)
        case .constant, .key, .evaluatedObject: false
        }
    }

    func evaluate(with object: Any?, variables: [String: Any]) -> Bool {
        let subject = Subject(object)
        if let matcher, case .record(_, let view) = subject { return matcher.matches(view) }
        let values = PredicateArithmetic(
            keyValue: { subject.value(forKeyPath: $0) },
            variable: { name in variables[name].map { PredicateValue($0) } },
            evaluatedObject: subject.whole)
        return holds(expression, subject, values)
    }

    private func holds(_ expression: PredicateTree, _ subject: Subject, _ values: PredicateArithmetic) -> Bool {
        switch expression {
        case .constant(let value): value
        case .comparison(let comparison): holds(comparison, subject, values)
        case .and(let parts): parts.allSatisfy { holds($0, subject, values) }
        case .or(let parts): parts.contains { holds($0, subject, values) }
        case .not(let inner): !holds(inner, subject, values)
        case .block: false
        }
    }

    private func holds(_ comparison: PredicateComparison, _ subject: Subject, _ values: PredicateArithmetic) -> Bool {
        if let words = subject.searchedWords(comparison) { return words }
        let left = values.value(of: comparison.left) ?? .null
        let right = values.value(of: comparison.right) ?? .null
        let rules = ValueRules(
            ignoresCase: comparison.options.contains(.caseInsensitive) || subject.isRecord,
            ignoresCaseInText: comparison.options.contains(.caseInsensitive),
            ignoresDiacritics: comparison.options.contains(.diacriticInsensitive))
        func holds(_ element: PredicateValue) -> Bool { rules.holds(element, comparison.operator, right) }
        switch comparison.modifier {
        case .direct: return holds(left)
        case .any: return elements(left).contains(where: holds)
        case .all: return elements(left).allSatisfy(holds)
        case .none: return !elements(left).contains(where: holds)
        }
    }

    /// Returns the elements of a list; empty for any other value.
    private func elements(_ value: PredicateValue) -> [PredicateValue] {
        if case .list(let elements) = value { elements } else { [] }
    }
}

/// The object on which a predicate is evaluated.
private enum Subject {
    case record(CKRecord, RecordView)
    case dictionary([String: Any])
    case value(Any?)

    init(_ object: Any?) {
        switch object {
        case let record as CKRecord: self = .record(record, RecordView(record))
        case let dictionary as NSDictionary:
            var values: [String: Any] = [:]
            for (key, value) in dictionary {
                if let key = key as? String { values[key] = value }
            }
            self = .dictionary(values)
        case let dictionary as [String: Any]: self = .dictionary(dictionary)
        default: self = .value(object)
        }
    }

    var isRecord: Bool { if case .record = self { true } else { false } }

    /// The object itself, which is the value of `self` in a predicate; nil for a dictionary.
    var whole: PredicateValue? {
        switch self {
        case .record(let record, _): PredicateValue(record)
        case .dictionary: nil
        case .value(let value): PredicateValue(value)
        }
    }

    func value(forKeyPath path: String) -> PredicateValue {
        switch self {
        case .record(let record, _):
            if path == "now" { return .date(Date()) }
            if let key = try? QueryKey(predicateKey: path), case .system(let field) = key {
                return systemValue(field, of: record, named: path)
            }
            return PredicateValue(record.value(forKeyPath: path))
        case .dictionary(let values):
            if let value = values[path] { return PredicateValue(value) }
            let parts = path.split(separator: ".", maxSplits: 1)
            guard parts.count == 2, let inner = values[String(parts[0])] else { return .null }
            return Subject(inner).value(forKeyPath: String(parts[1]))
        case .value: return .null
        }
    }

    private func systemValue(_ field: SystemField, of record: CKRecord, named name: String) -> PredicateValue {
        switch field {
        case .recordName: name == "recordName" ? .string(record.recordID.recordName) : PredicateValue(record.recordID)
        case .createdTimestamp: PredicateValue(record.creationDate)
        case .modifiedTimestamp: PredicateValue(record.modificationDate)
        case .createdUserRecordName: PredicateValue(record.creatorUserRecordID)
        case .modifiedUserRecordName: PredicateValue(record.lastModifiedUserRecordID)
        case .share: PredicateValue(record.share)
        case .parent: PredicateValue(record.parent)
        }
    }

    /// Returns the result of a full-text comparison; nil for any other comparison.
    func searchedWords(_ comparison: PredicateComparison) -> Bool? {
        guard case .record(_, let view) = self,
            let condition = try? PredicateConversion.condition(of: .comparison(comparison), .extended),
            case .filter(let filter) = condition, filter.comparator.isFullText
        else { return nil }
        return QueryMatcher(condition).matches(view)
    }
}

/// The rules by which single values are compared.
private struct ValueRules {
    /// Whether equality ignores case.
    var ignoresCase: Bool
    /// Whether ordering and text operators, such as `BEGINSWITH`, ignore case.
    var ignoresCaseInText: Bool
    var ignoresDiacritics: Bool

    func holds(_ left: PredicateValue, _ operation: PredicateComparison.Operator, _ right: PredicateValue) -> Bool {
        switch operation {
        case .equals: return areEqual(left, right)
        case .notEquals: return !areEqual(left, right)
        case .lessThan: return order(left, right).map { $0 < 0 } ?? false
        case .lessThanOrEquals: return order(left, right).map { $0 <= 0 } ?? false
        case .greaterThan: return order(left, right).map { $0 > 0 } ?? false
        case .greaterThanOrEquals: return order(left, right).map { $0 >= 0 } ?? false
        case .between:
            guard case .list(let bounds) = right, bounds.count == 2, let low = order(left, bounds[0]),
                let high = order(left, bounds[1])
            else { return false }
            return low >= 0 && high <= 0
        case .in: return isElement(left, of: right)
        case .contains: return isElement(right, of: left)
        case .beginsWith: return compareText(left, right) { $0.utf8.starts(with: $1.utf8) }
        case .endsWith: return compareText(left, right) { $0.utf8.reversed().starts(with: $1.utf8.reversed()) }
        case .like: return compareText(left, right) { Self.isLike($0, $1) }
        case .matches: return matches(left, right)
        case .tokenMatches:
            return compareText(left, right) { text, words in
                let found = Set(Tokenizer.tokens(of: text))
                let wanted = Tokenizer.tokens(of: words)
                return !wanted.isEmpty && wanted.allSatisfy(found.contains)
            }
        }
    }

    private func isElement(_ element: PredicateValue, of whole: PredicateValue) -> Bool {
        switch whole {
        case .list(let elements): elements.contains { areEqual($0, element) }
        case .string: compareText(whole, element) { text, part in part.isEmpty || Self.position(of: part, in: text) }
        default: false
        }
    }

    private static func position(of part: String, in text: String) -> Bool {
        text.range(of: part, options: .literal) != nil
    }

    private func areEqual(_ left: PredicateValue, _ right: PredicateValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)):
            let left = folded(left, ignoringCase: ignoresCase)
            return ValueComparison.order(.string(left), .string(folded(right, ignoringCase: ignoresCase))) == 0
        case (.list(let left), .list(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1) }
        case (.location(let left), .location(let right)):
            return left.latitude == right.latitude && left.longitude == right.longitude
        case (.reference, _), (.recordID, _):
            guard let left = left.target, let right = right.target else { return false }
            return left.recordName == right.recordName && left.zoneID == right.zoneID
        case (.asset, _): return false
        default:
            if let order = order(left, right) { return order == 0 }
            return left == right
        }
    }

    private func order(_ left: PredicateValue, _ right: PredicateValue) -> Int? {
        switch (left, right) {
        case (.string(let left), .string(let right)):
            let left = folded(left, ignoringCase: ignoresCaseInText)
            return ValueComparison.order(.string(left), .string(folded(right, ignoringCase: ignoresCaseInText)))
        case (.date(let left), .date(let right)):
            return left < right ? -1 : left == right ? 0 : 1
        default:
            guard let left = left.exactNumber, let right = right.exactNumber else { return nil }
            return ValueComparison.order(left, right)
        }
    }

    private func compareText(
        _ left: PredicateValue, _ right: PredicateValue, _ test: (String, String) -> Bool
    ) -> Bool {
        guard case (.string(let left), .string(let right)) = (left, right) else { return false }
        return test(
            folded(left, ignoringCase: ignoresCaseInText), folded(right, ignoringCase: ignoresCaseInText))
    }

    private func matches(_ left: PredicateValue, _ right: PredicateValue) -> Bool {
        guard case (.string(let text), .string(let pattern)) = (left, right) else { return false }
        let options: NSRegularExpression.Options = ignoresCaseInText ? .caseInsensitive : []
        guard let expression = try? NSRegularExpression(pattern: pattern, options: options) else { return false }
        let whole = NSRange(location: 0, length: text.utf16.count)
        return expression.matches(in: text, options: .anchored, range: whole).contains { $0.range == whole }
    }

    private func folded(_ text: String, ignoringCase: Bool) -> String {
        let text = ignoresDiacritics ? text.folding(options: .diacriticInsensitive, locale: nil) : text
        return ignoringCase ? String(decoding: QuerySemantics.equalityForm(text), as: UTF8.self) : text
    }

    /// Whether the whole text matches a pattern, in which `*` stands for any text and `?` for one character.
    private static func isLike(_ text: String, _ pattern: String) -> Bool {
        let text = Array(text)
        let pattern = Array(pattern)
        var (position, index) = (0, 0)
        // The position to which matching backtracks: after the last star, which then covers one more character.
        var retry: (position: Int, index: Int)?
        while position < text.count {
            if index < pattern.count, pattern[index] == "*" {
                retry = (position, index + 1)
                index += 1
            } else if index < pattern.count, pattern[index] == "?" || pattern[index] == text[position] {
                position += 1
                index += 1
            } else if let last = retry {
                retry = (last.position + 1, last.index)
                (position, index) = (last.position + 1, last.index)
            } else {
                return false
            }
        }
        return pattern[index...].allSatisfy { $0 == "*" }
    }
}

extension PredicateValue {
    fileprivate var target: ReferenceValue? {
        switch self {
        case .reference(let reference): reference
        case .recordID(let id): id
        default: nil
        }
    }

    fileprivate var exactNumber: FieldValue? {
        switch self {
        case .integer(let value): .int64(value)
        case .bool(let value): .int64(value ? 1 : 0)
        default: number.flatMap { $0.isNaN ? nil : .double($0) }
        }
    }
}
