import CloudKitExtras
import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

/// Random records and random predicates: a query finds exactly the records for which its predicate holds in memory, in the
/// order of its sort descriptors, whatever its page sizes.
@Suite("Queries and predicates agree")
struct QueryAgreementTests {
    @Test(arguments: [1, 2] as [UInt64])
    func `random queries in process agree with predicates in memory`(seed: UInt64) async throws {
        try await Cloud.with(.inProcess) { try await expectAgreement(seed, rounds: 700, $0) }
    }

    @Test func `random queries over HTTP agree with predicates in memory`() async throws {
        try await Cloud.with(.http) { try await expectAgreement(3, rounds: 200, $0) }
    }

    private func expectAgreement(_ seed: UInt64, rounds: Int, _ cloud: Cloud) async throws {
        var random = RandomPredicates(seed: seed)
        let database = cloud.database()
        let zoneID = try await database.zone("Zone")
        let records: [CKRecord] = try await database.saveAll((0..<50).map { random.record("r\($0)", in: zoneID) })
        var matched = 0
        for round in 0..<rounds {
            let isExtended = random.chance(30)
            let predicate = random.predicate(isExtended: isExtended, in: zoneID)
            // As one tree: Foundation's compounds know nothing of what a NOT means where a field is missing.
            let tree = NSPredicate.matching(predicate.expression)
            var query = CKQuery(recordType: "Item", predicate: predicate)
            query.sortDescriptors = random.sortDescriptors()
            if isExtended { query = query.extended }
            let order = SortOrder(try query.wireValue().sortBy)
            let expected = records.filter(tree.evaluate(with:)).map(RecordView.init)
                .sorted { order.precedes($0, $1) }.map(\.recordName)
            let found = try await names(query, limit: random.pick([0, 0, 1, 3, 20]), zoneID, database)
            let label = "seed \(seed), round \(round): \(PredicatePrinter.describe(predicate.expression))"
            if query.sortDescriptors == nil {
                #expect(found.sorted() == expected.sorted(), "\(label)")
            } else {
                #expect(found == expected, "\(label), sorted by \(order.descriptors.map(\.key))")
            }
            if round % 10 == 0 {
                #expect(try await database.count(matching: query, inZoneWith: zoneID) == expected.count, "\(label)")
            }
            matched += expected.count
        }
        #expect(matched > 3 * rounds, "seed \(seed): too few records matched to prove anything")
    }

    private func names(
        _ query: CKQuery, limit: Int, _ zoneID: CKRecordZone.ID, _ database: CKDatabase
    ) async throws -> [String] {
        var page = try await database.records(matching: query, inZoneWith: zoneID, resultsLimit: limit)
        var names = try page.matchResults.map { try $0.1.get().recordID.recordName }
        while let cursor = page.queryCursor {
            page = try await database.records(continuingMatchFrom: cursor, resultsLimit: limit)
            names += try page.matchResults.map { try $0.1.get().recordID.recordName }
        }
        return names
    }
}

/// Makes records and predicates from a seed. Values are few, so that conditions match and orders have ties.
private struct RandomPredicates {
    private var random: SeededGenerator
    private static let words = ["red", "Red", "RED dusk", "blue", "über", "Uber", "", "a", "ab", "dusk over"]
    private static let long = String(repeating: "é", count: 150)

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &random)] }

    // MARK: Records

    mutating func record(_ name: String, in zoneID: CKRecordZone.ID) -> CKRecord {
        let record = note(name, in: zoneID, "Item")
        for field in ["s", "i", "d", "t", "r", "l", "long"] where chance(80) {
            record[field] = scalar(field, zoneID) as? (any CKRecordValue)
        }
        for (field, element) in [("ss", "s"), ("is", "i"), ("rs", "r")] where chance(80) {
            record[field] = NSArray(
                array: (0..<Int.random(in: 0...3, using: &random)).map { _ in scalar(element, zoneID) })
        }
        // One of each, so that every field has its type.
        if name == "r0" {
            for (field, element) in [("ss", "s"), ("is", "i"), ("rs", "r")] {
                record[field] = NSArray(object: scalar(element, zoneID))
            }
            for field in ["s", "i", "d", "t", "r", "l", "long"] {
                record[field] = scalar(field, zoneID) as? (any CKRecordValue)
            }
        }
        return record
    }

    private mutating func scalar(_ field: String, _ zoneID: CKRecordZone.ID) -> Any {
        switch field {
        case "s": pick(Self.words)
        case "i": Int.random(in: -3...3, using: &random)
        case "d": Double(Int.random(in: -6...6, using: &random)) / 4
        case "t": Date(timeIntervalSince1970: Double(Int.random(in: -2...4, using: &random)) / 2)
        case "r":
            CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "r\(Int.random(in: 0..<6, using: &random))", zoneID: zoneID),
                action: .none)
        case "long": Self.long + pick(["", "x", "X", "y", String(repeating: "z", count: 100)])
        default:
            CLLocation(
                latitude: pick([0, 0.1, 45, 89.9, -90, -33.3, 51.5]), longitude: pick([0, 0.1, 179.9, -179.9, 13.4]))
        }
    }

    // MARK: Predicates

    mutating func predicate(isExtended: Bool, in zoneID: CKRecordZone.ID) -> NSPredicate {
        if isExtended { return compound(zoneID, depth: 0) }
        let parts = (0..<pick([1, 1, 1, 2, 2, 3])).map { _ in condition(zoneID) }
        return parts.count == 1 ? parts[0] : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
    }

    private mutating func compound(_ zoneID: CKRecordZone.ID, depth: Int) -> NSPredicate {
        switch depth > 2 ? 0 : Int.random(in: 0...5, using: &random) {
        case 1: NSCompoundPredicate(notPredicateWithSubpredicate: compound(zoneID, depth: depth + 1))
        case 2, 3:
            NSCompoundPredicate(type: .or, subpredicates: (0..<2).map { _ in compound(zoneID, depth: depth + 1) })
        case 4: NSCompoundPredicate(type: .and, subpredicates: (0..<2).map { _ in compound(zoneID, depth: depth + 1) })
        default: condition(zoneID)
        }
    }

    private mutating func condition(_ zoneID: CKRecordZone.ID) -> NSPredicate {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return search()
        case 1:
            let radius = pick([1, 12_000, 300_000, 5_000_000, 20_100_000] as [Double])
            return NSPredicate(
                format: "distanceToLocation:fromLocation:(l, %@) < %f", scalar("l", zoneID), radius)
        case 2:
            let ids = (0..<pick([0, 1, 4])).map { _ in
                CKRecord.ID(recordName: "r\(Int.random(in: 0..<60, using: &random))", zoneID: zoneID)
            }
            return NSPredicate(format: pick(["recordID IN %@", "NOT (recordID IN %@)"]), ids)
        case 3, 4: return listCondition(zoneID)
        default: return scalarCondition(zoneID)
        }
    }

    private mutating func search() -> NSPredicate {
        NSPredicate(
            format: pick(["self CONTAINS %@", "allTokens TOKENMATCHES[cdl] %@", "ANY tokenize(%@, 'Cdl') IN allTokens"]
            ),
            pick(Self.words))
    }

    private mutating func listCondition(_ zoneID: CKRecordZone.ID) -> NSPredicate {
        let (field, element) = pick([("ss", "s"), ("is", "i"), ("rs", "r")])
        let value = scalar(element, zoneID)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return NSPredicate(format: "NOT (%K CONTAINS %@)", field, value)
        case 1: return NSPredicate(format: "%@ IN %K", value, field)
        case 2: return NSPredicate(format: "ANY %K IN %@", field, [value, scalar(element, zoneID)])
        case 3 where field == "ss":
            return NSPredicate(format: "ANY %K BEGINSWITH %@", field, pick(["r", "R", "", "ü"]))
        default: return NSPredicate(format: "%K CONTAINS %@", field, value)
        }
    }

    private mutating func scalarCondition(_ zoneID: CKRecordZone.ID) -> NSPredicate {
        let field = pick(["s", "i", "d", "t", "r", "long"])
        var formats = ["%K == %@", "%K != %@", "NOT %K == %@"]
        if field != "r" { formats += ["%K < %@", "%K <= %@", "%K > %@", "%K >= %@", "NOT %K < %@"] }
        if field == "s" || field == "long" { formats += ["%K BEGINSWITH %@", "NOT (%K BEGINSWITH %@)"] }
        if chance(25) {
            let values = (0..<pick([0, 1, 3])).map { _ in scalar(field, zoneID) }
            return NSPredicate(format: pick(["%K IN %@", "NOT (%K IN %@)"]), field, values)
        }
        if field != "r", chance(10) {
            return NSPredicate(format: "%K BETWEEN %@", field, [scalar(field, zoneID), scalar(field, zoneID)])
        }
        return NSPredicate(format: pick(formats), field, scalar(field, zoneID))
    }

    mutating func sortDescriptors() -> [NSSortDescriptor]? {
        let count = pick([0, 0, 1, 1, 2])
        if count == 0 { return nil }
        return (0..<count).map { _ in
            if chance(15) {
                return CKLocationSortDescriptor(key: "l", relativeLocation: CLLocation(latitude: 45, longitude: 10))
            }
            return NSSortDescriptor(
                key: pick(["s", "i", "d", "t", "long", "recordID", "modificationDate"]), ascending: chance(60))
        }
    }
}
