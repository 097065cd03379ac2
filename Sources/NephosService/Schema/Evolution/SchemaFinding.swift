/// The element of a schema that a finding concerns.
package enum SchemaElement: Hashable, Sendable, CustomStringConvertible {
    case role(String)
    case recordType(String)
    case field(recordType: String, name: String)
    case grant(recordType: String, role: String)
    /// A composite index as declared: `(list, due DESC)`.
    case index(recordType: String, fields: String)

    package var description: String {
        switch self {
        case .role(let name): "role '\(Identifier.excerpt(name))'"
        case .recordType(let name): "record type '\(Identifier.excerpt(name))'"
        case .field(let recordType, let name):
            "field '\(Identifier.excerpt(name))' of record type '\(Identifier.excerpt(recordType))'"
        case .grant(let recordType, let role):
            "grant to '\(Identifier.excerpt(role))' on record type '\(Identifier.excerpt(recordType))'"
        case .index(let recordType, let fields):
            "index \(fields) of record type '\(Identifier.excerpt(recordType))'"
        }
    }
}

/// An error or a warning for the author of a schema.
package struct SchemaFinding: Hashable, Sendable, CustomStringConvertible {
    package enum Severity: Hashable, Sendable {
        case error
        case warning
    }

    package var severity: Severity
    /// The element that the finding concerns; nil if the text does not parse.
    package var element: SchemaElement?
    /// The position of the element in the text; nil if the text does not contain the element.
    package var position: SchemaPosition?
    /// The reason for the finding, a phrase that follows the element's name.
    package var reason: String

    init(_ severity: Severity, _ element: SchemaElement, at position: SchemaPosition? = nil, _ reason: String) {
        self.severity = severity
        self.element = element
        self.position = position
        self.reason = reason
    }

    /// Creates a finding that concerns no single element.
    init(_ severity: Severity, reason: String) {
        self.severity = severity
        self.reason = reason
    }

    init(_ error: SchemaSyntaxError) {
        severity = .error
        element = nil
        position = error.position
        reason = error.description
    }

    /// The finding's text, without its position.
    package var message: String { element.map { "\($0) \(reason)" } ?? reason }

    package var description: String {
        guard element != nil else { return reason }
        let place = position.map { "\($0): " } ?? ""
        return "\(place)\(severity == .warning ? "warning: " : "")\(message)"
    }
}

extension [SchemaFinding] {
    package var hasErrors: Bool { contains { $0.severity == .error } }

    /// Returns the findings in text order. Findings without a position come last.
    func inTextOrder() -> [SchemaFinding] {
        func key(_ finding: SchemaFinding) -> (Int, Int, String) {
            guard let position = finding.position else { return (.max, 0, finding.description) }
            return (position.line, position.column, finding.description)
        }
        return map { (key: key($0), finding: $0) }.sorted { $0.key < $1.key }.map(\.finding)
    }
}
