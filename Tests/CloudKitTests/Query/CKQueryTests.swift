import NephosWire
import Testing

@testable import CloudKit

@Suite("CKQuery and sort descriptors")
struct CKQueryTests {
    private func archived<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)
    }

    private func sent(_ query: CKQuery) throws -> Query { try query.wireValue() }

    @Test func `a query is sent as filters and an order`() throws {
        let query = CKQuery(
            recordType: "T", predicate: NSPredicate(format: "year > %d AND title BEGINSWITH %@", 1900, "D"))
        query.sortDescriptors = [
            NSSortDescriptor(key: "year", ascending: false), NSSortDescriptor(key: "creationDate", ascending: true),
            CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
        ]
        let wire = try sent(query)
        #expect(brief(wire.filterBy) == "year GREATER_THAN 1900; title BEGINS_WITH 'D'")
        #expect(wire.sortBy.map(\.key) == [.field("year"), .system(.createdTimestamp), .field("place")])
        #expect(wire.sortBy.map(\.ascending) == [false, true, true])
        #expect(wire.sortBy[2].relativeLocation?.longitude == 2)
    }

    @Test func `compound and constant predicates of Foundation's are converted`() throws {
        let a = NSPredicate(format: "a == 1")
        let b = NSPredicate(format: "b == %@", "x")
        func filters(_ predicate: NSPredicate) throws -> String {
            brief(try sent(CKQuery(recordType: "T", predicate: predicate)).filterBy)
        }
        #expect(try filters(NSPredicate(value: true)) == "")
        #expect(try filters(NSPredicate(value: false)) == ":recordName IN []reference")
        #expect(try filters(NSCompoundPredicate(type: .and, subpredicates: [a, b])) == "a EQUALS 1; b EQUALS 'x'")
        #expect(try filters(NSCompoundPredicate(notPredicateWithSubpredicate: b)) == "b NOT_EQUALS 'x'")
        #expect(try filters(NSCompoundPredicate(orPredicateWithSubpredicates: [a])) == "a EQUALS 1")
        #expect(try filters(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == "")
        #expect(throws: PredicateRefusal.self) {
            try filters(NSCompoundPredicate(orPredicateWithSubpredicates: [a, b]))
        }
        #expect(throws: PredicateRefusal.self) { try filters(NSPredicate { _, _ in true }) }
    }

    @Test func `values replace a predicate's variables`() throws {
        let template = NSPredicate(format: "name == $NAME AND list IN $LISTS AND stars IN {1, $STARS}")
        let owner = CKRecord.ID(recordName: "o")
        let first = template.withSubstitutionVariables(["NAME": "a", "LISTS": [owner], "STARS": 5, "OTHER": 1])
        #expect(first.description == #"name == "a" AND list IN {<record ID o>} AND stars IN {1, 5}"#)
        #expect(
            brief(try sent(CKQuery(recordType: "T", predicate: first)).filterBy).hasPrefix("name EQUALS 'a'; list IN"))
        // The template is as it was, and takes other values.
        #expect(throws: PredicateRefusal.self) { try sent(CKQuery(recordType: "T", predicate: template)) }
        let second = NSCompoundPredicate(type: .and, subpredicates: [template, NSPredicate(format: "done == $DONE")])
            .withSubstitutionVariables(["NAME": "b", "LISTS": [owner], "STARS": 2, "DONE": false])
        let record = CKRecord(recordType: "T")
        record["name"] = "b"
        record["list"] = CKRecord.Reference(recordID: owner, action: .none)
        record["stars"] = 2
        record["done"] = false
        #expect(second.evaluate(with: record))
        #expect(!first.evaluate(with: record))
    }

    @Test func `a sort descriptor needs a key`() {
        let query = CKQuery(recordType: "T", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(keyPath: \String.count, ascending: true)]
        #expect(throws: PredicateRefusal.self) { try sent(query) }
    }

    @Test func `CloudKitExtras sends every condition as an addition`() throws {
        func sent(_ format: String) throws -> Query {
            try CKQuery(recordType: "T", predicate: NSPredicate(format: format)).extendedCopy().wireValue()
        }
        let plain = try sent("a == 1 AND b == 2")
        #expect(plain.filterBy.isEmpty)
        #expect(
            plain.extendedFilter
                == .and(
                    ["a": 1, "b": 2].sorted { $0.key < $1.key }.map { .filter(Filter(.field($0), .equals, .int64($1))) }
                ))
        #expect(try sent("TRUEPREDICATE").extendedFilter == .all)
        let or = try sent("a == 1 OR NOT self CONTAINS 'x'")
        #expect(or.filterBy.isEmpty)
        let search = QueryExpression.filter(Filter(.allSearchableFields, .containsAnyTokens, .string("x")))
        #expect(or.extendedFilter == .or([.filter(Filter(.field("a"), .equals, .int64(1))), .not(search)]))
        let request = QueryRecordsRequest(query: or)
        #expect(try QueryRecordsRequest(decoding: request.encoded()) == request)
        #expect(throws: PredicateRefusal.self) { try sent("a LIKE 'x'") }
        // The deepest that is sent can be read.
        var deep = "a == 0"
        for level in 1..<QueryExpression.depthLimit {
            deep = "(\(deep)) \(level % 2 == 0 ? "AND" : "OR") a == \(level)"
        }
        let deepest = QueryRecordsRequest(query: try sent(deep))
        #expect(deepest.query.extendedFilter?.depth == QueryExpression.depthLimit)
        #expect(try QueryRecordsRequest(decoding: deepest.encoded()) == deepest)
        #expect(throws: PredicateRefusal.self) { try sent("(\(deep)) OR a == 1 AND (b == 2 OR (\(deep)))") }
    }

    @Test func `a sort descriptor keeps its key, also in copies`() {
        let descriptor = NSSortDescriptor(key: "title", ascending: false)
        #expect(descriptor.key == "title" && !descriptor.ascending)
        #expect((descriptor.copy() as? NSSortDescriptor)?.key == "title")
        #expect(NSSortDescriptor(keyPath: \String.count, ascending: true).key == nil)
    }

    @Test func `sort descriptors sort records in memory as a query does`() throws {
        func record(_ name: String, _ title: String?, _ year: Int?, _ longitude: Double?) -> CKRecord {
            let record = CKRecord(recordType: "T", recordID: CKRecord.ID(recordName: name))
            record["title"] = title
            record["year"] = year
            record["place"] = longitude.map { CLLocation(latitude: 0, longitude: $0) }
            return record
        }
        let records = [
            record("a", "b", 3, 10), record("b", "B", 1, nil), record("c", nil, 3, 5), record("d", "a", nil, 20),
        ]
        func sorted(_ descriptors: NSSortDescriptor...) throws -> String {
            let sorted = (records as NSArray).sortedArray(using: descriptors)
            return try #require(sorted as? [CKRecord]).map(\.recordID.recordName).joined()
        }
        #expect(try sorted(NSSortDescriptor(key: "title", ascending: true)) == "cbda")
        #expect(try sorted(NSSortDescriptor(key: "title", ascending: false)) == "adbc")
        let byYear = NSSortDescriptor(key: "year", ascending: false)
        #expect(try sorted(byYear, NSSortDescriptor(key: "title", ascending: true)) == "cabd")
        #expect(try sorted(NSSortDescriptor(key: "recordID", ascending: false)) == "dcba")
        #expect(try sorted(NSSortDescriptor(key: "creationDate", ascending: false)) == "abcd")
        let here = CLLocation(latitude: 0, longitude: 18)
        #expect(try sorted(CKLocationSortDescriptor(key: "place", relativeLocation: here)) == "dacb")
        #expect(byYear.compare(records[0], to: records[1]) == .orderedAscending)
    }

    @Test func `a query survives an archive, with its constants and its order`() throws {
        let id = CKRecord.ID(recordName: "A", zoneID: CKRecordZone.ID(zoneName: "Z"))
        let predicate = NSPredicate(
            format: """
                owner == %@ AND recordID IN %@ AND date > %@ AND NOT (tags CONTAINS %@) AND price BETWEEN {1.5, 2} \
                AND %K == YES AND distanceToLocation:fromLocation:(place, %@) < 10 * 1000 AND self CONTAINS 'it\\'s'
                """,
            CKRecord.Reference(recordID: id, action: .none), [id], Date(timeIntervalSince1970: 1.5), "x", "in",
            CLLocation(latitude: 1, longitude: 2))
        let query = CKQuery(recordType: "T", predicate: predicate)
        query.sortDescriptors = [
            NSSortDescriptor(key: "a", ascending: false),
            CKLocationSortDescriptor(key: "place", relativeLocation: CLLocation(latitude: 3, longitude: 4)),
        ]
        let copy = try #require(try archived(query))
        #expect(copy.recordType == "T")
        #expect(try sent(copy) == sent(query))
        #expect(try archived(CKQuery(recordType: "T", predicate: NSPredicate(value: true)))?.sortDescriptors == nil)
        let descriptor = try #require(
            try archived(CKLocationSortDescriptor(key: "p", relativeLocation: CLLocation(latitude: 3, longitude: 4))))
        #expect(descriptor.key == "p" && descriptor.relativeLocation.coordinate.latitude == 3)
    }

    @Test(
        arguments: [
            "a == 1", "NOT (a == 1 OR b LIKE 'x')", "a + 1 - 2 * 3 ** 2 > -5", "ANY {1, 2} == a", "NONE a.b ==[cd] 'x'",
            "SELF CONTAINS 'x'", "a IN {b, $c}", "abs(a) < length('abc')", "creationDate < now()",
            "TRUEPREDICATE AND FALSEPREDICATE",
            "#in == nil AND x == TRUE",
        ])
    func `every format that parses is archived as an equivalent one`(_ format: String) throws {
        let expression = try PredicateTree(format: format)
        let archive = try #require(PredicatePrinter.archive(expression))
        let again = try PredicateTree(format: archive.format, objects: archive.arguments.map(\.object))
        #expect(again == expression, "\(archive.format)")
        // The description is a format as well, where all constants have literals.
        let described = try PredicateTree(format: PredicatePrinter.describe(expression))
        #expect(PredicatePrinter.describe(described) == PredicatePrinter.describe(expression))
    }

    @Test func `a copy is another query`() throws {
        let query = CKQuery(recordType: "T", predicate: NSPredicate(format: "a == 1"))
        query.sortDescriptors = [NSSortDescriptor(key: "a", ascending: true)]
        let copy = try #require(query.copy() as? CKQuery)
        copy.sortDescriptors = nil
        #expect(query.sortDescriptors?.count == 1)
        #expect(try sent(copy).filterBy == sent(query).filterBy)
        #expect(query.description.contains("recordType=T, predicate=a == 1, sortDescriptors=(a ascending)"))
    }

    @Test func `a format that cannot be parsed stops the program, as Apple's exception does`() async {
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "a == ") }
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "a == %@ AND b == %@", argumentArray: [1]) }
        await #expect(processExitsWith: .failure) {
            _ = CKQuery(recordType: "", predicate: NSPredicate(value: true))
        }
        #expect(PredicateFormat.problem(in: "a == 1") == nil)
        #expect(PredicateFormat.problem(in: "a == ")?.contains("expected a key or a value at position 5") == true)
    }
}
