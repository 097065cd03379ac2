import CloudKit
import CloudKitLocal
import Foundation
import Testing

/// Dates as an app's code makes them: `Date()` has more than milliseconds.
struct DateTests {
    private let cloud: LocalCloud
    private let database: CKDatabase
    /// Three moments within one millisecond.
    private let moments = [0.123_400_1, 0.123_400_2, 0.123_400_3].map {
        Date(timeIntervalSinceReferenceDate: 785_000_000 + $0)
    }

    init() throws {
        cloud = try LocalCloud()
        database = cloud.container().privateCloudDatabase
    }

    @Test(
        arguments: [
            Date(), .distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 0.1),
            Date(timeIntervalSinceReferenceDate: 1.0 / 3), Date(timeIntervalSinceReferenceDate: -1e9 / 7),
            Date(timeIntervalSinceReferenceDate: .greatestFiniteMagnitude),
        ])
    func `a date round-trips to the last bit`(date: Date) async throws {
        let record = CKRecord(recordType: "Note")
        record["at"] = date
        record["all"] = [date, Date(timeIntervalSince1970: 1)]
        record["place"] = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3, horizontalAccuracy: 4,
            verticalAccuracy: 5, timestamp: date)
        let saved = try await database.save(record)
        #expect(saved["at"] == date)

        let fetched = try await database.record(for: record.recordID)
        #expect(fetched["at"] == date)
        #expect(fetched["all"] == [date, Date(timeIntervalSince1970: 1)])
        #expect((fetched["place"] as? CLLocation)?.timestamp == date)
    }

    @Test func `dates within one millisecond sort, compare and match individually`() async throws {
        for (name, date) in zip(["c", "a", "b"], moments) {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
            record["at"] = date
            try await database.save(record)
        }
        func names(_ format: String, _ arguments: Date..., ascending: Bool = true) async throws -> [String] {
            let query = CKQuery(
                recordType: "Note", predicate: NSPredicate(format: format, argumentArray: arguments))
            query.sortDescriptors = [NSSortDescriptor(key: "at", ascending: ascending)]
            let found = try await database.records(matching: query).matchResults
            for (_, result) in found { #expect(query.predicate.evaluate(with: try result.get())) }
            return found.map(\.0.recordName)
        }
        #expect(try await names("TRUEPREDICATE") == ["c", "a", "b"])
        #expect(try await names("TRUEPREDICATE", ascending: false) == ["b", "a", "c"])
        #expect(try await names("at > %@", moments[0]) == ["a", "b"])
        #expect(try await names("at <= %@", moments[1]) == ["c", "a"])
        #expect(try await names("at == %@", moments[1]) == ["a"])
        #expect(try await names("at IN {%@, %@}", moments[0], moments[2]) == ["c", "b"])
    }
}
