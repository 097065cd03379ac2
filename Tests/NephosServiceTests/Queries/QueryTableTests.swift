import NephosWire
import Testing

@testable import NephosService

/// Each comparator with each type of field, against the evaluation of the same filter on the same records.
@Suite("Every comparator with every type of field")
struct QueryTableTests {
    /// A field of each type, with values that records have; the last operand is one that no record has.
    struct Column: Sendable, CustomStringConvertible {
        var field: String
        var values: [FieldValue]
        var absent: FieldValue
        var comparators: Set<FilterComparator>
        var description: String { field }
    }

    private static let equality: Set<FilterComparator> = [.equals, .notEquals, .in, .notIn]
    private static let order: Set<FilterComparator> = [
        .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals,
    ]
    private static let lists: Set<FilterComparator> = [
        .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll,
    ]
    private static let prefixes: Set<FilterComparator> = [.beginsWith, .notBeginsWith]
    private static let tokens: Set<FilterComparator> = [.containsAllTokens, .containsAnyTokens]

    private static func place(_ latitude: Double, _ longitude: Double) -> FieldValue {
        .location(LocationValue(latitude: latitude, longitude: longitude))
    }

    private static func link(_ name: String) -> FieldValue { .reference(ReferenceValue(recordName: name)) }

    static let columns: [Column] = [
        Column(
            field: "string", values: [.string("Red"), .string("red wine"), .string("blue"), .string("")],
            absent: .string("green"), comparators: equality.union(order).union(prefixes).union(tokens)),
        Column(
            field: "int", values: [.int64(-1), .int64(0), .int64(7)], absent: .double(6.5),
            comparators: equality.union(order)),
        Column(
            field: "double", values: [.double(-0.5), .double(0), .double(2.5)], absent: .int64(2),
            comparators: equality.union(order)),
        Column(
            field: "date", values: [.timestamp(-1), .timestamp(0), .timestamp(1_700_000_000_000)],
            absent: .timestamp(5),
            comparators: equality.union(order)),
        Column(
            field: "place", values: [place(48.2, 16.4), place(-33, 151), place(0, 180)], absent: place(10, 10),
            comparators: equality.union([.near])),
        Column(
            field: "link", values: [link("r0"), link("r1"), link("other")], absent: link("nobody"),
            comparators: equality),
        Column(
            field: "strings",
            values: [
                .list(of: .string, [.string("Red"), .string("blue")]), .list(of: .string, [.string("blue")]),
                .list(of: .string, []),
            ], absent: .string("green"),
            comparators: lists.union([.listMemberBeginsWith, .notListMemberBeginsWith])),
        Column(
            field: "ints",
            values: [
                .list(of: .int64, [.int64(1), .int64(2)]), .list(of: .int64, [.int64(2)]), .list(of: .int64, []),
            ],
            absent: .int64(3), comparators: lists),
        Column(
            field: "dates",
            values: [.list(of: .timestamp, [.timestamp(1), .timestamp(2)]), .list(of: .timestamp, [])],
            absent: .timestamp(9), comparators: lists),
        Column(
            field: "links",
            values: [.list(of: .reference, [link("r0"), link("r1")]), .list(of: .reference, [link("r1")])],
            absent: link("nobody"), comparators: lists),
        Column(
            field: "places",
            values: [.list(of: .location, [place(1, 2), place(3, 4)]), .list(of: .location, [place(3, 4)])],
            absent: place(10, 10), comparators: lists),
        Column(field: "bytes", values: [.bytes([1, 2])], absent: .bytes([9]), comparators: []),
    ]

    /// A record for each value, one without any field, and one with a list's other values.
    private func fill(_ cloud: QueryCloud) async throws -> [KnownRecord] {
        var operations: [RecordOperation] = [.create("none", [:], type: "Item")]
        for column in Self.columns {
            for (index, value) in column.values.enumerated() {
                operations.append(.create("\(column.field)\(index)", [column.field: value], type: "Item"))
            }
        }
        let owner = try await cloud.service.currentUser(cloud.context).userRecordName
        return try await cloud.modify(operations, zone: "A").compactMap { result in
            guard case .record(let record) = result else { return nil }
            return KnownRecord(record, zone: "A", owner: owner)
        }
    }

    @Test(arguments: [QueryBounds(), QueryPropertyTests.bounds[2]].indices)
    func `every comparator agrees with the matcher for every field type`(bounds: Int) async throws {
        let cloud = QueryCloud(bounds: [QueryBounds(), QueryPropertyTests.bounds[2]][bounds])
        try await cloud.makeZones("A")
        let known = try await fill(cloud)
        var outcomes = (matched: 0, empty: 0, refused: 0)
        for column in Self.columns {
            for comparator in FilterComparator.allCases {
                for filter in filters(column, comparator) {
                    let query = Query(recordType: "Item", filterBy: [filter])
                    guard column.comparators.contains(comparator) else {
                        let error = await cloud.refusal(query, zone: "A")
                        #expect(error?.clientCode == .invalidArguments, "\(column) \(comparator): \(filter.fieldValue)")
                        #expect(error?.reason.contains("Field '\(column.field)'") == true)
                        outcomes.refused += 1
                        continue
                    }
                    let matcher = QueryMatcher([filter])
                    let expected = known.filter { matcher.matches($0) }.map(\.recordName).sorted()
                    let found = try await cloud.all(query, zone: "A").sorted()
                    #expect(found == expected, "\(column) \(comparator) \(filter.fieldValue)")
                    if expected.isEmpty { outcomes.empty += 1 } else { outcomes.matched += 1 }
                }
                try await expectWrongTypeRefusal(column, comparator, cloud)
            }
        }
        #expect(outcomes.matched > 100 && outcomes.empty > 30 && outcomes.refused > 200, "\(outcomes)")
    }

    /// Operands that records have, one that none has, and no operand where a list is taken.
    private func filters(_ column: Column, _ comparator: FilterComparator) -> [Filter] {
        var scalars = [column.absent]
        for value in column.values {
            if case .list(_, let elements) = value { scalars += elements } else { scalars.append(value) }
        }
        let key = QueryKey.field(column.field)
        if comparator == .near {
            return scalars.flatMap { value in
                [0, 100_000, 21_000_000].map { Filter(key, comparator, value, distance: $0) }
            }
        }
        guard comparator.takesList else { return scalars.map { Filter(key, comparator, $0) } }
        let scalar = scalars[0].type.scalar
        return [
            Filter(key, comparator, .list(of: scalar, [])), Filter(key, comparator, .list(of: scalar, [scalars[0]])),
            Filter(key, comparator, .list(of: scalars[1].type.scalar, Array(scalars.dropFirst()))),
        ]
    }

    private func expectWrongTypeRefusal(
        _ column: Column, _ comparator: FilterComparator, _ cloud: QueryCloud
    ) async throws {
        guard column.comparators.contains(comparator), !comparator.isFullText else { return }
        let wrong: FieldValue = column.field.hasPrefix("int") || column.field == "double" ? .string("x") : .int64(1)
        let value = comparator.takesList ? .list(of: wrong.type.scalar, [wrong]) : wrong
        let error = await cloud.refusal(
            Query(recordType: "Item", filterBy: [Filter(.field(column.field), comparator, value, distance: 1)]),
            zone: "A")
        #expect(error?.clientCode == .invalidArguments, "\(column) \(comparator)")
        #expect(error?.reason.contains("cannot be queried using filter value type") == true)
    }
}
