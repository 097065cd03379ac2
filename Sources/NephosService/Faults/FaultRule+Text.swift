import NephosWire

/// A rule as text: the operation, what it addresses and how often, and the code.
///
///     save zone=Notes device=phone first=2 when=after networkFailure
extension FaultRule: CustomStringConvertible {
    /// The text from which `init(text:)` makes the same rule, if no value has a space.
    package var description: String {
        var words = [operation.rawValue]
        for (key, value) in [
            ("type", recordType), ("record", recordName), ("zone", zoneName), ("database", database?.rawValue),
            ("account", account), ("device", device),
        ] {
            if let value { words.append("\(key)=\(value)") }
        }
        switch occurrence {
        case .nth(1): break
        case .nth(let number): words.append("nth=\(number)")
        case .first(let count): words.append("first=\(count)")
        case .every: words.append("every")
        case .probability(let share): words.append("probability=\(share)")
        }
        if stage != .before { words.append("when=\(stage.rawValue)") }
        if let isOfItems { words.append("level=" + (isOfItems ? "item" : "request")) }
        words.append(code.name)
        if let retryAfter { words.append("retry=\(retryAfter)") }
        return words.joined(separator: " ")
    }

    /// Reads a rule. A value with a space cannot be written.
    /// - Throws: `ServiceError`, which names the word and what may stand in its place.
    package init(text: String) throws(ServiceError) {
        var rule = FaultRule(.any, .internalError)
        var (operations, codes) = (0, 0)
        var keys: Set<Substring> = []
        for word in text.split(whereSeparator: \.isWhitespace) {
            if let operation = FaultOperation(rawValue: String(word)) {
                rule.operation = operation
                operations += 1
            } else if let code = FaultCode(name: word) {
                rule.code = code
                codes += 1
            } else {
                let key = word.prefix { $0 != "=" }
                guard keys.insert(key).inserted else { throw .invalid("a fault has one \(key)") }
                try rule.take(word)
            }
        }
        let occurrences = keys.intersection(Self.occurrences)
        if occurrences.count > 1 {
            throw .invalid(
                "a fault has one of \(occurrences.sorted().joined(separator: ", ")): it says which requests fail")
        }
        guard operations == 1 else {
            throw .invalid(
                "a fault has one operation: " + FaultOperation.allCases.map(\.rawValue).joined(separator: ", "))
        }
        guard codes == 1 else {
            throw .invalid("a fault has one error code of CKError, such as networkFailure or serverRecordChanged")
        }
        if let problem = rule.problem { throw .invalid("'\(text)' can never happen: \(problem)") }
        self = rule
    }

    /// Reads the rule of a request that asks for its own fault.
    /// - Throws: `ServiceError`, also for a rule that counts requests.
    package init(ofOneRequest text: String) throws(ServiceError) {
        try self.init(text: text)
        switch occurrence {
        case .nth(1), .every: break
        case .nth, .first, .probability:
            throw .invalid(
                "nth=, first= and probability= count a server's requests, and this fault is one request's: "
                    + "'nephos faults add' takes them")
        }
    }

    /// The words that say which of the matching requests fail.
    private static let occurrences: Set<Substring> = ["nth", "first", "every", "probability"]

    private mutating func take(_ word: Substring) throws(ServiceError) {
        if word == "every" {
            occurrence = .every
            return
        }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, try set(String(parts[0]), String(parts[1])) else {
            throw .invalid(
                "'\(Identifier.excerpt(String(word)))' is no part of a fault: an operation, an error code, every, or one of "
                    + "type= record= zone= database= account= device= nth= first= probability= when= level= retry=")
        }
    }

    /// - Returns: false for an unknown key.
    private mutating func set(_ key: String, _ value: String) throws(ServiceError) -> Bool {
        switch key {
        case "type": recordType = value
        case "record": recordName = value
        case "zone": zoneName = value
        case "database": database = try Self.read(key, "public, private or shared", DatabaseScope(rawValue: value))
        case "account": account = value
        case "device": device = value
        case "nth": occurrence = .nth(try Self.read(key, "a number from 1", Int(value)))
        case "first": occurrence = .first(try Self.read(key, "a number from 1", Int(value)))
        case "probability": occurrence = .probability(try Self.read(key, "a number from 0 to 1", Double(value)))
        case "when": stage = try Self.read(key, "before, after or amid", Stage(rawValue: value))
        case "level":
            isOfItems = try Self.read(key, "item or request", ["item": true, "request": false][value])
        case "retry": retryAfter = try Self.read(key, "a number of seconds", Double(value))
        default: return false
        }
        return true
    }

    private static func read<Value>(_ key: String, _ expected: String, _ value: Value?) throws(ServiceError) -> Value {
        guard let value else { throw .invalid("\(key)= of a fault is \(expected)") }
        return value
    }
}
