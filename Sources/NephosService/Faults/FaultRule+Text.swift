import NephosWire

/// A rule as text: the operation, what it addresses and how often, and the code.
///
///     save zone=Notes device=phone first=2 when=after networkFailure
extension FaultRule: CustomStringConvertible {
    /// The text from which `init(text:)` makes the same rule.
    package var description: String {
        var words = address.words + occurrence.words + stage.words
        if let isOfItems { words.append("level=" + (isOfItems ? "item" : "request")) }
        words.append(code.name)
        if let retryAfter { words.append("retry=\(retryAfter)") }
        return words.joined(separator: " ")
    }

    /// Reads a rule.
    /// - Throws: `ServiceError`, which names the word and what may stand in its place.
    package init(text: String) throws(ServiceError) {
        var rule = FaultRule(.any, .internalError)
        var (operations, codes) = (0, 0)
        var keys: Set<String> = []
        for word in try FaultWords.split(text) {
            let scalars = word.text
            if let operation = FaultOperation(rawValue: String(scalars)) {
                rule.address.operation = operation
                operations += 1
            } else if let code = FaultCode(name: String(scalars)) {
                rule.code = code
                codes += 1
            } else {
                let key = String(scalars.prefix { $0 != "=" })
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
    private static let occurrences: Set<String> = ["nth", "first", "every", "probability"]

    private mutating func take(_ word: FaultWords.Word) throws(ServiceError) {
        if String(word.text) == "every" {
            occurrence = .every
            return
        }
        // By scalars: a mark that combines with a character before it is a value's own.
        let parts = word.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, word.isQuoted || !parts[1].isEmpty, try set(parts[0], parts[1]) else {
            throw .invalid(
                "'\(Identifier.excerpt(String(word.text)))' is no part of a fault: an operation, an error code, every, or one "
                    + "of type= record= zone= database= account= device= nth= first= probability= when= level= retry=")
        }
    }

    /// - Returns: false for an unknown key.
    private mutating func set(_ key: String, _ value: String) throws(ServiceError) -> Bool {
        switch key {
        case "type": address.recordType = value
        case "record": address.recordName = value
        case "zone": address.zoneName = value
        case "database":
            address.database = try Self.read(key, "public, private or shared", DatabaseScope(rawValue: value))
        case "account": address.account = value
        case "device": address.device = value
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

extension RequestAddress {
    /// Its words in the text of a fault.
    var words: [String] {
        let pairs = [
            ("type", recordType), ("record", recordName), ("zone", zoneName), ("database", database?.rawValue),
            ("account", account), ("device", device),
        ]
        return [operation.rawValue] + pairs.compactMap { key, value in value.map { FaultWords.pair(key, $0) } }
    }
}

extension FaultRule.Occurrence {
    fileprivate var words: [String] {
        switch self {
        case .nth(1): []
        case .nth(let number): ["nth=\(number)"]
        case .first(let count): ["first=\(count)"]
        case .every: ["every"]
        case .probability(let share): ["probability=\(share)"]
        }
    }
}

extension FaultRule.Stage {
    fileprivate var words: [String] { self == .before ? [] : ["when=\(rawValue)"] }
}

extension RequestAddress: CustomStringConvertible {
    package var description: String { words.joined(separator: " ") }
}

extension RequestHold: CustomStringConvertible {
    /// The words that a fault of the same requests has, without its code.
    package var description: String { (address.words + occurrence.words + stage.words).joined(separator: " ") }
}
