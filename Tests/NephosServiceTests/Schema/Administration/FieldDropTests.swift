import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// `nephos schema drop`: a field is dropped with its values, and the next save makes it again.
@Suite struct FieldDropTests {
    private func value(_ field: String, of name: String, in zone: String?, _ cloud: QueryCloud) async throws
        -> FieldValue?
    {
        let request = LookupRecordsRequest(
            records: [.init(recordName: name)], zoneID: zone.map { ZoneIDDictionary(zoneName: $0) })
        guard case .record(let record)? = try await cloud.service.lookupRecords(request, cloud.context).records.first
        else {
            throw QueryCloud.UnexpectedFailure(reason: "no record \(name)")
        }
        return try record.fields.decoded()[field]?.value
    }

    @Test func `a field is dropped with its values in every zone, and may have another type then`() async throws {
        let cloud = QueryCloud()
        try await cloud.makeZones("Z")
        for zone in ["Z", nil] {
            try await cloud.modify(
                (0..<450).map { .force("n\($0)", ["n": .int64(Int64($0)), "title": .string("t")]) }, zone: zone)
            try await cloud.modify([.force("other", ["n": .int64(1)], type: "Other")], zone: zone)
        }
        try await cloud.modify([.force("without", ["title": .string("t")])])
        // Makes an index of the field.
        let numbers = Query(recordType: "Note", filterBy: [Filter(.field("n"), .equals, .int64(7))])
        #expect(try await cloud.all(numbers, zone: "Z") == ["n7"])
        let report = try await cloud.dropping("n")
        #expect(report.errors == [])
        #expect(report.changes.last == "values of 'n' erased from 900 records")
        #expect(await cloud.refusal(numbers)?.reason.contains("has no field of that name") == true)
        try await cloud.modify([.force("n7", ["n": .string("seven")])], zone: "Z")
        let words = Query(recordType: "Note", filterBy: [Filter(.field("n"), .equals, .string("seven"))])
        #expect(try await cloud.all(words, zone: "Z") == ["n7"])
        #expect(try await value("n", of: "n8", in: "Z", cloud) == nil)
        #expect(try await value("title", of: "n8", in: "Z", cloud) == .string("t"), "other fields stay")
        #expect(try await value("n", of: "other", in: nil, cloud) == .int64(1), "as do other types'")
    }

    @Test func `devices are notified of removed values`() async throws {
        let cloud = QueryCloud()
        try await cloud.makeZones("Z")
        try await cloud.modify([.force("a", ["n": .int64(1)]), .force("b", ["title": .string("t")])], zone: "Z")
        func changes(since token: String?) async throws -> RecordZoneChanges {
            let request = RecordZoneChangesRequest(
                zones: [.init(zoneID: ZoneIDDictionary(zoneName: "Z"), syncToken: token)])
            guard
                case .changes(let changes)? = try await cloud.service.recordZoneChanges(request, cloud.context).zones
                    .first
            else { throw QueryCloud.UnexpectedFailure(reason: "no changes") }
            return changes
        }
        let before = try await changes(since: nil).syncToken
        _ = try await cloud.dropping("n")
        let after = try await changes(since: before)
        guard case .record(let changed)? = after.records.first, after.records.count == 1 else {
            Issue.record("\(after.records)")
            return
        }
        #expect(changed.recordName == "a")
        #expect(try changed.fields.decoded().isEmpty)
    }

    @Test func `fields of production, system fields and missing fields are not dropped`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify([.force("a", ["stars": .int64(1)])])
        #expect(
            try await cloud.dropping("star").errors
                == ["record type 'Note' has no field 'star'; did you mean 'stars'?"])
        #expect(
            try await cloud.dropping("stars", of: "Notes").errors
                == ["there is no record type 'Notes'; did you mean 'Note'?"])
        #expect(
            try await cloud.dropping("___createTime").errors
                == ["field '___createTime' of record type 'Note' is the system's"])
        _ = try await cloud.service.deploySchema(cloud.schema())
        let refused = try await cloud.dropping("stars")
        #expect(refused.errors.count == 1 && refused.errors[0].contains("production"), "\(refused)")
        #expect(try await value("stars", of: "a", in: nil, cloud) == .int64(1), "nothing was erased")
    }

    @Test func `an index of several fields is dropped with one of them`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify([.force("a", ["list": .string("l"), "rank": .int64(1)])])
        try await cloud.declare("INDEX (list, rank DESC)", of: "Note")
        #expect(try await cloud.dropping("rank").errors == [])
        let text = try await cloud.export()
        #expect(text.contains("list ") && !text.contains("INDEX (") && !text.contains("rank"), "\(text)")
    }
}
