import NephosWire
import Testing

@testable import CloudKit

/// Each operator × each type of field × (matches, does not match, empty list, missing field, wrong type), through the
/// library, in process and over HTTP: a query finds exactly the records for which its predicate holds in memory.
@Suite("Every operator on every type of field")
struct QueryOperatorTableTests {
    /// A field of one type: what records have in it, a value that none has, and one of another type.
    struct Column: Sendable, CustomTestStringConvertible {
        var field: String
        var values: [FieldSample]
        var absent: FieldSample
        var wrong: FieldSample
        var operators: [Operator]

        var testDescription: String { field }
    }

    /// A value, made where it is used: the objects are not Sendable.
    typealias FieldSample = @Sendable () -> any CKRecordValue

    enum Operator: CaseIterable, Sendable {
        case equals, notEquals, less, lessOrEquals, greater, greaterOrEquals, between, isIn, isNotIn, listContainsField
        case beginsWith, doesNotBeginWith, contains, doesNotContain, valueInField, anyEquals, anyBeginsWith, anyIn, near

        static let equality: [Operator] = [.equals, .notEquals, .isIn, .isNotIn, .listContainsField]
        static let order: [Operator] = [.less, .lessOrEquals, .greater, .greaterOrEquals, .between]
        static let list: [Operator] = [.contains, .doesNotContain, .valueInField, .anyEquals, .anyIn]

        var takesList: Bool { [.isIn, .isNotIn, .listContainsField, .anyIn].contains(self) }

        /// With the operator's own placeholders: the field, and what it is compared with.
        func predicate(_ field: String, _ operand: Any) -> NSPredicate {
            switch self {
            case .equals: NSPredicate(format: "%K == %@", field, operand)
            case .notEquals: NSPredicate(format: "%K != %@", field, operand)
            case .less: NSPredicate(format: "%K < %@", field, operand)
            case .lessOrEquals: NSPredicate(format: "%K <= %@", field, operand)
            case .greater: NSPredicate(format: "%K > %@", field, operand)
            case .greaterOrEquals: NSPredicate(format: "%K >= %@", field, operand)
            case .between: NSPredicate(format: "%K BETWEEN %@", field, [operand, operand])
            case .isIn: NSPredicate(format: "%K IN %@", field, operand)
            case .isNotIn: NSPredicate(format: "NOT (%K IN %@)", field, operand)
            case .listContainsField: NSPredicate(format: "%@ CONTAINS %K", operand, field)
            case .beginsWith: NSPredicate(format: "%K BEGINSWITH %@", field, operand)
            case .doesNotBeginWith: NSPredicate(format: "NOT (%K BEGINSWITH %@)", field, operand)
            case .contains: NSPredicate(format: "%K CONTAINS %@", field, operand)
            case .doesNotContain: NSPredicate(format: "NOT (%K CONTAINS %@)", field, operand)
            case .valueInField: NSPredicate(format: "%@ IN %K", operand, field)
            case .anyEquals: NSPredicate(format: "ANY %K == %@", field, operand)
            case .anyBeginsWith: NSPredicate(format: "ANY %K BEGINSWITH %@", field, operand)
            case .anyIn: NSPredicate(format: "ANY %K IN %@", field, operand)
            case .near: NSPredicate(format: "distanceToLocation:fromLocation:(%K, %@) < %f", field, operand, 200_000.0)
            }
        }
    }

    private static func samples(_ values: (any CKRecordValue & Sendable)...) -> [FieldSample] {
        values.map { value in { value } }
    }

    private static func reference(_ name: String) -> CKRecord.Reference {
        CKRecord.Reference(
            recordID: CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Zone")), action: .none)
    }

    private static let columns: [Column] = {
        let number = Operator.equality + Operator.order
        let one: FieldSample = { 1 }
        let text: FieldSample = { "x" }
        return [
            Column(
                field: "string", values: samples("red", "Red", "reddish", "blue", "", "é", "E\u{301}"),
                absent: { "green" }, wrong: one, operators: number + [.beginsWith, .doesNotBeginWith]),
            Column(
                field: "int", values: samples(0, 1, -1, Int64.max, Int64.min), absent: { 7 }, wrong: text,
                operators: number),
            Column(
                field: "double", values: samples(0.5, -2.25, 1e300, 3.0), absent: { 7.5 }, wrong: text,
                operators: number),
            Column(
                field: "bool", values: samples(true, false), absent: { 2 }, wrong: text, operators: number),
            Column(
                field: "date",
                values: [0, 1.5, -86_400, 1_000_000_000].map { (seconds: Double) in
                    { Date(timeIntervalSince1970: seconds) }
                },
                absent: { Date(timeIntervalSince1970: 77) }, wrong: text, operators: number),
            Column(
                field: "place",
                values: [(52.5, 13.4), (52.5, 13.5), (-90, 0), (0, 180), (0, -180)].map { (place: (Double, Double)) in
                    { CLLocation(latitude: place.0, longitude: place.1) }
                }, absent: { CLLocation(latitude: 10, longitude: 10) }, wrong: text,
                operators: Operator.equality + [.near]),
            Column(
                field: "owner", values: ["a", "b", "A"].map { (name: String) in { reference(name) } },
                absent: { reference("nobody") }, wrong: text, operators: Operator.equality),
            Column(
                field: "strings",
                values: [["red", "blue"], ["Red"], ["reddish", "é"]].map { (list: [String]) in { NSArray(array: list) }
                },
                absent: { "green" }, wrong: one, operators: Operator.list + [.anyBeginsWith]),
            Column(
                field: "ints", values: [[1, 2], [2], [-1, 0]].map { (list: [Int]) in { NSArray(array: list) } },
                absent: { 7 },
                wrong: text, operators: Operator.list),
            Column(
                field: "owners",
                values: [["a", "b"], ["b"]].map { (names: [String]) in { NSArray(array: names.map(reference)) } },
                absent: { reference("nobody") }, wrong: text, operators: Operator.list),
            Column(
                field: "dates",
                values: [[0, 1.5], [1.5]].map { (seconds: [Double]) in
                    { NSArray(array: seconds.map { Date(timeIntervalSince1970: $0) }) }
                }, absent: { Date(timeIntervalSince1970: 77) }, wrong: text, operators: Operator.list),
        ]
    }()

    /// A record for each value, one for an empty list in each list, and one without any field.
    private static func records(in zoneID: CKRecordZone.ID) -> [CKRecord] {
        var records = [note("none", in: zoneID, "Item")]
        for column in columns {
            for (index, value) in column.values.enumerated() {
                let record = note("\(column.field)-\(index)", in: zoneID, "Item")
                record[column.field] = value()
                records.append(record)
            }
            if column.operators.contains(.contains) {
                let record = note("\(column.field)-empty", in: zoneID, "Item")
                record[column.field] = NSArray()
                records.append(record)
            }
        }
        return records
    }

    /// What the operator is tried with: every value that records have, one that none has, an empty list.
    private static func operands(_ column: Column, _ operation: Operator) -> [Any] {
        var scalars: [Any] = [column.absent()]
        for value in column.values {
            let value: Any = value()
            if let list = value as? NSArray { scalars += list } else { scalars.append(value) }
        }
        guard operation.takesList else { return scalars }
        return [[Any](), [scalars[0]], [scalars[1]], Array(scalars.dropFirst())]
    }

    @Test(arguments: Transport.allCases)
    func `every operator agrees with evaluation in memory for every field type`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zoneID = try await database.zone("Zone")
            let records: [CKRecord] = try await database.saveAll(Self.records(in: zoneID))
            var outcomes = (matched: 0, empty: 0, refused: 0)
            for column in Self.columns {
                for operation in Operator.allCases {
                    for operand in Self.operands(column, operation) {
                        let predicate = operation.predicate(column.field, operand)
                        let label = "\(predicate.expression)"
                        guard column.operators.contains(operation) else {
                            let code = await database.refusal(of: predicate, in: zoneID)
                            #expect(code == .invalidArguments, "\(column.field) \(operation) \(label)")
                            outcomes.refused += 1
                            continue
                        }
                        let expected = records.filter(predicate.evaluate(with:)).map(\.recordID.recordName).sorted()
                        let found = try await database.names(matching: predicate, in: zoneID)
                        #expect(found == expected, "\(column.field) \(operation) \(label)")
                        if expected.isEmpty { outcomes.empty += 1 } else { outcomes.matched += 1 }
                    }
                    guard column.operators.contains(operation) else { continue }
                    let wrong: Any = operation.takesList ? [column.wrong()] : column.wrong()
                    let code = await database.refusal(of: operation.predicate(column.field, wrong), in: zoneID)
                    #expect(code == .invalidArguments, "\(column.field) \(operation) with a value of another type")
                }
            }
            #expect(outcomes.matched > 250 && outcomes.empty > 40 && outcomes.refused > 300, "\(outcomes)")
        }
    }
}

extension CKDatabase {
    /// The names of all records of the type `Item` that match.
    func names(matching predicate: NSPredicate, in zoneID: CKRecordZone.ID) async throws -> [String] {
        let page = try await records(matching: CKQuery(recordType: "Item", predicate: predicate), inZoneWith: zoneID)
        #expect(page.queryCursor == nil)
        return try page.matchResults.map { try $0.1.get().recordID.recordName }.sorted()
    }

    /// The code with which a query for `Item` records is refused; nil if it is answered.
    func refusal(of predicate: NSPredicate, in zoneID: CKRecordZone.ID) async -> CKError.Code? {
        await code {
            _ = try await records(matching: CKQuery(recordType: "Item", predicate: predicate), inZoneWith: zoneID)
        }
    }
}
