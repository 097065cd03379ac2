import FoundationEssentials
import NephosWire

/// Formats records for people: one line with the name, then one line per field.
enum RecordText {
    static func lines(_ record: RecordDictionary) -> [String] {
        let zone = record.zoneID.map { " in \($0.zoneName)" } ?? ""
        let fields = (try? record.fields.decoded())?.entries ?? []
        return ["\(record.recordName)\(zone)"]
            + fields.map { entry in "    \(entry.name): \(entry.field.value.map(text) ?? "")" }
    }

    static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .timestamp(let time): time.date.formatted(.iso8601)
        case .location(let location): "\(location.latitude), \(location.longitude)"
        case .reference(let reference):
            "-> " + (reference.zoneID.map { $0.zoneName + "/" } ?? "") + reference.recordName
        case .asset(let asset): "a file of \(asset.size) bytes"
        case .sealed(let sealed): "encrypted, \(sealed.bytes.count) bytes"
        case .list(_, let elements): "[" + elements.map(text).joined(separator: ", ") + "]"
        }
    }

    /// Returns a text on one line, with control characters for terminals escaped.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case _ where scalar.properties.generalCategory == .control:
                quoted += "\\u{\(String(scalar.value, radix: 16))}"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
