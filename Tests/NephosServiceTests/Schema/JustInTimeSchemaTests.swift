import NephosWire
import Testing

@testable import NephosService

@Suite struct JustInTimeSchemaTests {
    @Test func `a field keeps the type of its first value, for all records of its record type`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("a", ["x": .string("text")])])
        let error = try #require(try await database.modify([.create("b", ["x": .int64(1)])])[0].error)
        #expect(error.clientErrorCode == 12)
        #expect(
            error.reason
                == "invalid attempt to set value type INT64 for field 'x' for type 'Note', defined to be: STRING")
        #expect(try await database.modify([.create("c", ["x": .int64(1)], type: "Other")])[0].summary == "saved")
        _ = try await database.modify([.force("a", ["x": nil])])
        #expect(try await database.modify([.create("d", ["x": .int64(1)])])[0].summary == "error 12")
    }

    @Test func `a numeric field accepts integers and fractions`() async throws {
        let database = TestDatabase(TestCloud())
        let results = try await database.modify([.create("a", ["n": .int64(1)]), .create("b", ["n": .double(1.5)])])
        #expect(results.map(\.summary) == ["saved", "saved"])
        let fields = try #require(try await database.lookup("b")[0].record).fields.decoded()
        #expect(fields["n"]?.value == .double(1.5))
    }

    @Test func `a clear value is refused in an encrypted field, and the other way round`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        func saving(_ value: FieldValue, isEncrypted: Bool) async throws -> String? {
            var operation = RecordOperation.create("b").withKey()
            operation.record.fields["x"] = Field(value, isEncrypted: isEncrypted)
            let other: FieldValue = isEncrypted ? .sealed(.int64) : .int64(1)
            operation.record.fields["plain"] = Field(other, isEncrypted: isEncrypted)
            return try await database.modify([operation])[0].error?.reason
        }
        var first = RecordOperation.create("a").withKey()
        first.record.fields["x"] = Field(.sealed(.string), isEncrypted: true)
        _ = try await database.modify([first])
        #expect(
            try await saving(.string("open"), isEncrypted: false)?.hasPrefix(
                "invalid attempt to set value type ENCRYPTED_BYTES for field 'x' for type 'Note', defined to be:"
                    + " ENCRYPTED_STRING") == true)
        #expect(
            try await saving(.sealed(.double), isEncrypted: true)
                == "invalid attempt to set value type ENCRYPTED_DOUBLE for field 'x' for type 'Note', defined to be:"
                + " ENCRYPTED_STRING")
        _ = try await database.modify([.create("p", ["plain": .int64(1)])])
        #expect(
            try await saving(.sealed(.string), isEncrypted: true)?.hasPrefix(
                "Attempt to save encrypted data in non encrypted field type") == true)
    }

    @Test func `within one batch the first value counts`() async throws {
        let database = TestDatabase(TestCloud())
        let results = try await database.modify([.create("a", ["x": .int64(1)]), .create("b", ["x": .string("1")])])
        #expect(results.map(\.summary) == ["saved", "error 12"])
    }

    @Test func `a failed batch adds nothing to the schema`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([.create("old")])
        _ = try await database.modify([.create("a", ["x": .int64(1)]), .create("old")])
        #expect(try await database.modify([.create("b", ["x": .string("1")])])[0].summary == "saved")
    }

    @Test func `concurrent saves agree on a new field's type`() async throws {
        let database = TestDatabase(TestCloud())
        let summaries = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                let value: FieldValue = number.isMultiple(of: 2) ? .string("text") : .bytes([1])
                group.addTask { try await database.modify([.create("n\(number)", ["x": value])])[0].summary }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(summaries == ["saved": 20, "error 12": 20])
    }

    @Test func `an empty list makes no field, and takes the field's type once there is one`() async throws {
        let database = TestDatabase(TestCloud())
        let empty = FieldValue.list(of: .unknown, [])
        let refused = try await database.modify([.create("a", ["tags": empty])])[0]
        #expect(refused.summary == "error 12")
        #expect(refused.error?.reason.contains("cannot use an empty list to initialize a new field") == true)
        #expect(
            try await database.modify([.create("b", ["tags": .list(of: .string, [.string("x")])])])[0].summary
                == "saved")
        let record = try #require(try await database.modify([.create("c", ["tags": empty])])[0].record)
        #expect(try record.fields.decoded()["tags"]?.value == .list(of: .string, []))
        #expect(try await database.modify([.create("d", ["tags": .string("x")])])[0].summary == "error 12")
    }

    @Test func `untyped values are read as the field's type`() async throws {
        let database = TestDatabase(TestCloud())
        let day = FieldValue.timestamp(1_767_225_600_000)
        _ = try await database.modify([.create("a", ["day": day, "raw": .bytes([1, 2]), "sum": .double(0.5)])])
        var operation = RecordOperation.create("b")
        operation.record.fields["day"] = Field(.int64(1_767_225_600_000), hasDeclaredType: false)
        operation.record.fields["raw"] = Field(.string("AQ\r\n I="), hasDeclaredType: false)
        operation.record.fields["sum"] = Field(.int64(2), hasDeclaredType: false)
        let record = try #require(try await database.modify([operation])[0].record)
        let fields = try record.fields.decoded()
        #expect(fields["day"]?.value == day && fields["raw"]?.value == .bytes([1, 2]))
        operation.record.fields["day"] = Field(.int64(1), hasDeclaredType: true)
        operation.record.recordName = "c"
        #expect(try await database.modify([operation])[0].summary == "error 12")
    }

    @Test func `a number as a string without a type is one in a field of numbers, and declared a string it is none`()
        async throws
    {
        let cloud = TestCloud()
        let report = try await cloud.service.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note (whole INT64, part DOUBLE, day TIMESTAMP, many LIST<INT64>);",
            cloud.context())
        #expect(report.findings == [])
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("a", ["plain": .int64(1), "plains": .list(of: .int64, [.int64(1)])])])
        func strings(_ texts: String...) -> FieldValue { .list(of: .string, texts.map { .string($0) }) }
        let large = FieldValue.string("9007199254740993")
        let values: [(String, FieldValue, FieldValue?)] = [
            ("whole", large, .int64(9_007_199_254_740_993)), ("part", .string("-1.5e3"), .double(-1500)),
            ("day", .string("1767225600000"), .timestamp(1_767_225_600_000)),
            ("plain", large, .int64(9_007_199_254_740_993)), ("plain", .string("0.5"), .double(0.5)),
            ("many", strings("1", "-2"), .list(of: .int64, [.int64(1), .int64(-2)])), ("new", large, large),
            ("whole", .string("1.5"), nil), ("whole", .string("9223372036854775808"), nil), ("whole", .string(""), nil),
            ("whole", .string(" 1"), nil), ("part", .string("nan"), nil), ("part", .string("0x1p3"), nil),
            ("day", .string("2026-01-01"), nil), ("many", strings("1", "b"), nil), ("plains", strings("1", "2.5"), nil),
        ]
        for (number, (field, value, expected)) in values.enumerated() {
            var operation = RecordOperation.create("n\(number)")
            operation.record.fields[field] = Field(value, hasDeclaredType: false)
            let saved = try await database.modify([operation])[0]
            #expect(try saved.record?.fields.decoded()[field]?.value == expected, "\(field) \(value)")
        }
        #expect(try await database.modify([.create("z", ["whole": .string("1")])])[0].summary == "error 12")
    }

    @Test func `production refuses unknown types and fields`() async throws {
        let cloud = TestCloud()
        let context = cloud.context(environment: .production)
        let request = ModifyRecordsRequest(operations: [.create("a", ["x": .int64(1)])], wantsServerRecord: true)
        let error = try await cloud.service.modifyRecords(request, context).records[0].error
        #expect(error?.reason == "Cannot create new type Note in production schema")
    }

    @Test func `a field is either encrypted or not`() async throws {
        let database = TestDatabase(TestCloud())
        try await database.makeZoneKey()
        func create(_ name: String, encrypted: Bool) -> RecordOperation {
            var operation = RecordOperation.create(name).withKey()
            let value: FieldValue = encrypted ? .sealed(.string) : .string("x")
            operation.record.fields["secret"] = Field(value, isEncrypted: encrypted)
            return operation
        }
        _ = try await database.modify([create("a", encrypted: true)])
        #expect(try await database.modify([create("b", encrypted: false)])[0].summary == "error 12")
        #expect(try await database.modify([create("c", encrypted: true)])[0].summary == "saved")
    }
}
