import FoundationEssentials
import NephosWire

/// The value of a placeholder in a command line, as `KIND:VALUE`.
enum PredicateArgument {
    static let kinds = "string, int, double, date, reference or location"

    static func parse(_ text: String) throws(UsageError) -> PredicateValue {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw UsageError("'\(text)' is no argument: '--argument' takes KIND:VALUE, with \(kinds) as the kind.")
        }
        let value: PredicateValue? =
            switch parts[0] {
            case "string": .string(parts[1])
            case "int": Int64(parts[1]).map(PredicateValue.integer)
            case "double": Double(parts[1]).map(PredicateValue.double)
            case "date": date(parts[1]).map(PredicateValue.date)
            case "reference": reference(parts[1]).map(PredicateValue.reference)
            case "location": location(parts[1]).map(PredicateValue.location)
            default: throw UsageError("'\(parts[0])' is unknown: '--argument' takes \(kinds) as the kind.")
            }
        guard let value else {
            throw UsageError("'\(parts[1])' is no \(parts[0]): \(form(parts[0])).")
        }
        return value
    }

    private static func form(_ kind: String) -> String {
        switch kind {
        case "date": "write date:2026-01-31T12:00:00Z, or the seconds since 1970"
        case "reference": "write reference:RECORD, or reference:ZONE/RECORD"
        case "location": "write location:LATITUDE,LONGITUDE in degrees"
        case "int": "write int:5"
        default: "write double:2.5"
        }
    }

    private static func date(_ text: String) -> Date? {
        if let seconds = Double(text) { return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil }
        return try? Date(text, strategy: .iso8601)
    }

    /// Parses a reference; nil for invalid text. A reference without a zone refers to the zone of the record that
    /// contains it.
    private static func reference(_ text: String) -> ReferenceValue? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        return ReferenceValue(
            recordName: parts[parts.count - 1], zoneID: parts.count == 2 ? ZoneIDDictionary(zoneName: parts[0]) : nil)
    }

    private static func location(_ text: String) -> LocationValue? {
        let parts = text.split(separator: ",").map { Double($0) }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1], abs(latitude) <= 90,
            abs(longitude) <= 180
        else { return nil }
        return LocationValue(latitude: latitude, longitude: longitude)
    }
}
