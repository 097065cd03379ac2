/// A part of a schema that something can be said about.
package enum SchemaElement: Hashable, Sendable, CustomStringConvertible {
    case role(String)
    case recordType(String)
    case field(recordType: String, name: String)
    case grant(recordType: String, role: String)
    /// An index of several fields, as it is declared: `(list, due DESC)`.
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

/// Something about a schema that is refused, or that its author should know.
package struct SchemaFinding: Hashable, Sendable, CustomStringConvertible {
    package enum Severity: Hashable, Sendable {
        case error
        case warning
    }

    package var severity: Severity
    /// Nil where the text is no schema.
    package var element: SchemaElement?
    /// Nil where the element is not in the text.
    package var position: SchemaPosition?
    /// What is said about the element.
    package var reason: String

    init(_ severity: Severity, _ element: SchemaElement, at position: SchemaPosition? = nil, _ reason: String) {
        self.severity = severity
        self.element = element
        self.position = position
        self.reason = reason
    }

    init(_ error: SchemaSyntaxError) {
        severity = .error
        element = nil
        position = error.position
        reason = error.description
    }

    /// What is said of what, without its place.
    package var message: String { element.map { "\($0) \(reason)" } ?? reason }

    package var description: String {
        guard element != nil else { return reason }
        let place = position.map { "\($0): " } ?? ""
        return "\(place)\(severity == .warning ? "warning: " : "")\(message)"
    }
}

extension [SchemaFinding] {
    package var hasErrors: Bool { contains { $0.severity == .error } }

    /// In the order of the text; what is not in the text comes last.
    func inTextOrder() -> [SchemaFinding] {
        func key(_ finding: SchemaFinding) -> (Int, Int, String) {
            guard let position = finding.position else { return (.max, 0, finding.description) }
            return (position.line, position.column, finding.description)
        }
        return map { (key: key($0), finding: $0) }.sorted { $0.key < $1.key }.map(\.finding)
    }
}
