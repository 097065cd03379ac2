package import FoundationEssentials
import Glibc

/// Evaluates the operands of predicates. Evaluates keys only if `keyValue` is set.
package struct PredicateArithmetic {
    var now: Date
    /// Returns the value of a key of the evaluated object; nil if operands with keys cannot be evaluated.
    var keyValue: ((String) -> PredicateValue)?
    /// Returns the value of a variable; nil if the variable has none.
    var variable: ((String) -> PredicateValue?)?
    /// The object that is evaluated, to which `self` refers; nil if there is none.
    var evaluatedObject: PredicateValue?

    package init(
        now: Date = Date(), keyValue: ((String) -> PredicateValue)? = nil,
        variable: ((String) -> PredicateValue?)? = nil, evaluatedObject: PredicateValue? = nil
    ) {
        self.now = now
        self.keyValue = keyValue
        self.variable = variable
        self.evaluatedObject = evaluatedObject
    }

    /// Returns the value of an operand; nil if the value is unknown or undefined, such as a text plus a number.
    package func value(of operand: PredicateOperand) -> PredicateValue? {
        switch operand {
        case .constant(let value): return value
        case .key(let key): return keyValue?(key)
        case .evaluatedObject: return evaluatedObject
        case .variable(let name): return variable?(name)
        case .list(let elements):
            var values: [PredicateValue] = []
            for element in elements {
                guard let value = value(of: element) else { return nil }
                values.append(value)
            }
            return .list(values)
        case .function(let name, let operands):
            guard let function = PredicateFunction(rawValue: name) else { return nil }
            var values: [PredicateValue] = []
            for operand in operands {
                guard let value = value(of: operand) else { return nil }
                values.append(value)
            }
            guard values.count == function.argumentCount else { return nil }
            return call(function, values)
        }
    }

    private func call(_ function: PredicateFunction, _ values: [PredicateValue]) -> PredicateValue? {
        switch function {
        case .now: return .date(now)
        case .cast: return Self.cast(values[0], to: values[1])
        case .tokenize: return values[0]
        case .distance:
            guard case (.location(let from), .location(let to)) = (values[0], values[1]) else { return nil }
            return .double(from.distance(to: to))
        case .add, .subtract, .multiply, .divide, .raise: return Self.calculate(function, values[0], values[1])
        case .lowercase, .uppercase, .length:
            guard case .string(let text) = values[0] else { return nil }
            switch function {
            case .lowercase: return .string(text.lowercased())
            case .uppercase: return .string(text.uppercased())
            default: return .integer(Int64(text.utf16.count))
            }
        case .count:
            guard case .list(let elements) = values[0] else { return nil }
            return .integer(Int64(elements.count))
        case .abs, .ceiling, .floor, .truncate, .squareRoot:
            guard let number = values[0].number else { return nil }
            switch function {
            case .abs: return .double(number.magnitude)
            case .ceiling: return .double(number.rounded(.up))
            case .floor: return .double(number.rounded(.down))
            case .truncate: return .double(number.rounded(.towardZero))
            default: return .double(number.squareRoot())
            }
        }
    }

    private static func cast(_ value: PredicateValue, to type: PredicateValue) -> PredicateValue? {
        guard case .string(let type) = type else { return nil }
        switch type {
        case "NSDate", "Date": return value.number.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case "NSString", "String":
            switch value {
            case .string: return value
            case .integer(let number): return .string("\(number)")
            case .double(let number): return .string("\(number)")
            default: return nil
            }
        case "NSNumber", "NSDecimalNumber", "Double", "Int":
            if case .string(let text) = value { return Double(text).map(PredicateValue.double) }
            if case .date(let date) = value { return .double(date.timeIntervalSinceReferenceDate) }
            return value.number.map(PredicateValue.double)
        default: return nil
        }
    }

    private static func calculate(
        _ function: PredicateFunction, _ left: PredicateValue, _ right: PredicateValue
    ) -> PredicateValue? {
        if case .integer(let left) = left, case .integer(let right) = right {
            let whole: (Int64, Bool)? =
                switch function {
                case .add: left.addingReportingOverflow(right)
                case .subtract: left.subtractingReportingOverflow(right)
                case .multiply: left.multipliedReportingOverflow(by: right)
                default: nil
                }
            if let (result, overflow) = whole, !overflow { return .integer(result) }
        }
        // A date plus or minus seconds.
        if case .date(let date) = left, let seconds = right.number {
            switch function {
            case .add: return .date(date.addingTimeInterval(seconds))
            case .subtract: return .date(date.addingTimeInterval(-seconds))
            default: return nil
            }
        }
        guard let left = left.number, let right = right.number else { return nil }
        switch function {
        case .add: return .double(left + right)
        case .subtract: return .double(left - right)
        case .multiply: return .double(left * right)
        case .divide: return .double(left / right)
        case .raise: return .double(pow(left, right))
        default: return nil
        }
    }
}
