import FoundationEssentials
import NephosTesting
import NephosWire

@testable import NephosService

/// Makes records and queries from a seed. Values are few, so that conditions match and orders have ties.
struct RandomQueries {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    static let words = [
        "red", "Red", "blue", "über", "Uber", "U\u{308}ber", "straße", "STRASSE", "", "a", "aa", "ab", "z",
    ]
    static let scalars = ["s", "i", "d", "t", "r", "loc", "text", "long"]
    static let lists = ["ls", "li", "lr"]

    // MARK: - Records

    mutating func record(_ name: String, others: [String]) -> RecordOperation {
        var fields: [String: FieldValue] = [:]
        for field in Self.scalars + Self.lists where random.chance(80) { fields[field] = value(of: field, others) }
        return .force(name, fields, type: "Item", parent: nil)
    }

    /// A change of some fields, some of them cleared.
    mutating func change(_ name: String, others: [String]) -> RecordOperation {
        var fields: [String: FieldValue?] = [:]
        for field in Self.scalars + Self.lists where random.chance(30) {
            fields[field] = .some(random.chance(20) ? nil : value(of: field, others))
        }
        return .force(name, fields, type: "Item", parent: nil)
    }

    mutating func value(of field: String, _ names: [String]) -> FieldValue {
        switch field {
        case "s": return .string(random.pick(Self.words))
        case "i": return .int64(Int64.random(in: -3...3, using: &random))
        case "d": return number()
        case "t":  // Some of them within one millisecond.
            let second = Int64.random(in: -2...5, using: &random)
            return .timestamp(Timestamp(Date(timeIntervalSince1970: Double(second) + (random.chance(50) ? 1e-4 : 0))))
        case "r": return .reference(ReferenceValue(recordName: random.pick(names)))
        case "loc": return .location(location())
        case "text":
            return .string(
                (0..<Int.random(in: 0...6, using: &random)).map { _ in random.pick(Self.words) }.joined(separator: " "))
        case "long":
            // Beginnings longer than an index keeps.
            let start = String(repeating: random.chance(50) ? "x" : "é", count: 200)
            return .string(
                start + String(repeating: random.pick(["y", "Y"]), count: Int.random(in: 0...200, using: &random)))
        case "ls":
            return .list(
                of: .string, (0..<Int.random(in: 0...4, using: &random)).map { _ in .string(random.pick(Self.words)) })
        case "li":
            return .list(
                of: .int64,
                (0..<Int.random(in: 0...4, using: &random)).map { _ in .int64(Int64.random(in: -2...2, using: &random))
                })
        default:
            return .list(
                of: .reference,
                (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    .reference(ReferenceValue(recordName: random.pick(names)))
                })
        }
    }

    mutating func number() -> FieldValue {
        random.chance(50)
            ? .int64(Int64.random(in: -2...2, using: &random))
            : .double(Double(Int.random(in: -8...8, using: &random)) / 4)
    }

    mutating func location() -> LocationValue {
        let latitudes = [0, 0.1, 45, 89.9, 90, -90, -33.3, 51.5]
        let longitudes = [0, 0.1, 179.9, -179.9, 180, -180, 13.4, -122]
        return LocationValue(latitude: random.pick(latitudes), longitude: random.pick(longitudes))
    }

    // MARK: - Queries

    mutating func query(_ names: [String], extended: Bool) -> Query {
        var query = Query(recordType: "Item")
        for _ in 0..<random.pick([0, 1, 1, 1, 2, 2, 3]) { query.filterBy.append(filter(names)) }
        if extended, random.chance(40) { query.extendedFilter = expression(names, depth: 0) }
        query.sortBy = sort()
        return query
    }

    mutating func expression(_ names: [String], depth: Int) -> QueryExpression {
        let kinds = depth > 2 ? 1 : 6
        switch Int.random(in: 0..<kinds, using: &random) {
        case 1: return .not(expression(names, depth: depth + 1))
        case 2: return .and((0..<2).map { _ in expression(names, depth: depth + 1) })
        case 3, 4:
            return .or((0..<Int.random(in: 1...3, using: &random)).map { _ in expression(names, depth: depth + 1) })
        case 5 where random.chance(10): return random.chance(50) ? .all : .none
        default: return .filter(filter(names))
        }
    }

    mutating func filter(_ names: [String]) -> Filter {
        let field = random.pick(Self.scalars + Self.lists + ["name", "created", "modified", "creator", "self"])
        switch field {
        case "name":
            let comparator: FilterComparator = random.pick([.equals, .notEquals, .in, .notIn])
            return Filter(.system(.recordName), comparator, operand(comparator, "r", names))
        case "creator":
            return Filter(
                .system(.createdUserRecordName), random.chance(70) ? .equals : .notEquals,
                .reference(ReferenceValue(recordName: random.chance(70) ? "__defaultOwner__" : "nobody")))
        case "created", "modified":
            let time = 1_700_000_000_000 + Int64.random(in: 0...100, using: &random)
            let comparator: FilterComparator = random.pick([.lessThan, .greaterThan, .greaterThanOrEquals, .equals])
            return Filter(
                .system(field == "created" ? .createdTimestamp : .modifiedTimestamp), comparator,
                .timestamp(Timestamp(milliseconds: time)))
        case "self":
            return Filter(
                .allSearchableFields, random.chance(50) ? .containsAllTokens : .containsAnyTokens,
                value(of: "text", names))
        case "loc":
            if random.chance(30) { return Filter(.field(field), .equals, .location(location())) }
            let distance = random.pick([0, 1, 12_000, 30_000, 1_000_000, 9_000_000, 21_000_000] as [Double])
            return Filter(.field(field), .near, .location(location()), distance: distance)
        default:
            let comparator = random.pick(Self.comparators(field))
            return Filter(.field(field), comparator, operand(comparator, field, names))
        }
    }

    static func comparators(_ field: String) -> [FilterComparator] {
        let equality: [FilterComparator] = [.equals, .notEquals, .in, .notIn, .equals, .in]
        let order: [FilterComparator] = [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals]
        switch field {
        case "s", "long": return equality + order + [.beginsWith, .notBeginsWith]
        case "text": return equality + [.containsAllTokens, .containsAnyTokens, .containsAllTokens]
        case "r": return equality
        case "ls", "li", "lr":
            let lists: [FilterComparator] = [
                .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll,
                .notListContainsAll,
            ]
            return field == "ls" ? lists + [.listMemberBeginsWith, .notListMemberBeginsWith] : lists
        default: return equality + order
        }
    }

    private mutating func operand(_ comparator: FilterComparator, _ field: String, _ names: [String]) -> FieldValue {
        if comparator.isFullText { return value(of: "text", names) }
        if comparator.positive == .beginsWith || comparator.positive == .listMemberBeginsWith {
            if field == "long" { return .string(String(repeating: "x", count: random.pick([10, 200, 256, 257, 300]))) }
            return .string(random.pick(["", "r", "R", "a", "ü", "u", "U\u{308}", "stra"]))
        }
        let scalar = ["ls": "s", "li": "d", "lr": "r"][field] ?? (field == "i" ? "d" : field)
        guard comparator.takesList else { return value(of: scalar, names) }
        let values = (0..<Int.random(in: 0...4, using: &random)).map { _ in value(of: scalar, names) }
        return .list(of: values.first?.type.scalar ?? .unknown, values)
    }

    /// Declarations of indexes that some of the queries can use.
    mutating func indexes() -> [String] {
        (0..<8).compactMap { _ in
            var parts: [String] = []
            for field in ["s", "i", "r", random.pick(Self.lists)] where random.chance(30) && parts.count < 3 {
                parts.append(field)
            }
            if random.chance(15) {
                parts.append("loc NEAR")
            } else {
                for field in ["t", "d", "long", "\"___createTime\"", "\"___modTime\""] where random.chance(20) {
                    parts.append("\(field) \(random.chance(50) ? "ASC" : "DESC")")
                }
            }
            return parts.count > 1 ? "INDEX (\(parts.joined(separator: ", ")))" : nil
        }
    }

    mutating func sort() -> [QuerySortDescriptor] {
        (0..<random.pick([0, 0, 1, 1, 1, 2, 2, 3])).map { _ in
            if random.chance(12) {
                return QuerySortDescriptor(
                    .field("loc"), ascending: random.chance(85), relativeLocation: location())
            }
            let key = random.pick([
                QueryKey.field("s"), .field("i"), .field("d"), .field("t"), .field("long"), .system(.createdTimestamp),
                .system(.modifiedTimestamp), .system(.recordName), .system(.createdUserRecordName),
            ])
            return QuerySortDescriptor(key, ascending: random.chance(60))
        }
    }
}
