@testable import CloudKit
@testable import NephosWire

/// Filters in a short form that a table can hold: `year >= 1900`, `recordName = @A-17`, `place NEAR (1.0 2.0) 500.0`.
func brief(_ filters: [Filter]) -> String {
    filters.map(brief).joined(separator: "; ")
}

private func brief(_ filter: Filter) -> String {
    let name =
        switch filter.key {
        case .field(let name): name
        case .system(let field): ":" + field.rawValue
        case .allSearchableFields: "*"
        }
    let value = filter.fieldValue.value.map(brief) ?? "nil"
    let distance = filter.distance.map { " \($0)" } ?? ""
    return "\(name) \(filter.comparator.rawValue) \(value)\(distance)"
}

private func brief(_ value: FieldValue) -> String {
    switch value {
    case .string(let text): "'\(text)'"
    case .int64(let number): "\(number)"
    case .double(let number): "\(number)"
    case .timestamp(let milliseconds): "t\(milliseconds)"
    case .location(let location): "(\(location.latitude) \(location.longitude))"
    case .reference(let reference):
        "@\(reference.recordName)" + (reference.zoneID.map { $0 == .defaultZone ? "" : "/\($0.zoneName)" } ?? "/?")
    case .list(let scalar, let values):
        "[\(values.map(brief).joined(separator: ", "))]" + (values.isEmpty ? "\(scalar)" : "")
    case .bytes, .asset, .sealed: "?"
    }
}

/// What a format becomes: its filters, or `refused: …`, or `unparsable: …`.
func outcome(_ format: String, _ arguments: [Any?] = []) -> String {
    do {
        return brief(try PredicateConversion.filters(of: try PredicateTree(format: format, objects: arguments)))
    } catch let error as PredicateFormatError {
        return "unparsable: expected \(error.expected) at \(error.position), found \(error.found)"
    } catch let error as PredicateRefusal {
        return "refused: \(error.part): \(error.rule)"
    } catch {
        return "\(error)"
    }
}
