import FoundationEssentials
import NephosTesting
import NephosWire
import Testing

/// The stored form of fields, and editing it without decoding.
struct EncodedFieldsTests {
    private static let sample =
        #"{"a":{"value":1,"type":"INT64"},"b\"c":{"value":["x\"}",{"y":1}],"type":"STRING_LIST"},"#
        + #""d":{"value":"{\"","type":"STRING","isEncrypted":true},"é":{"value":0.5,"type":"DOUBLE"}}"#

    @Test func `stored fields are sorted by UTF-8, typed, without nulls, empty lists kept`() {
        let fields = RecordFields([
            .init(name: "é", field: Field(.double(3))),
            .init(name: "z", field: Field(nil)),
            .init(name: "title", field: Field(.string("Dusk"), hasDeclaredType: false)),
            .init(name: "secret", field: Field(.bytes([1, 2]), isEncrypted: true)),
            .init(name: "tags", field: Field(.list(of: .string, []))),
            .init(name: "what", field: Field(.list(of: .unknown, []))),
            .init(name: "B", field: Field(.timestamp(5))),
            .init(name: "link", field: Field(.reference(ReferenceValue(recordName: "A", zoneID: .defaultZone)))),
            .init(name: "file", field: Field(.asset(AssetValue(fileChecksum: "c", size: 9)))),
            .init(name: "place", field: Field(.location(LocationValue(latitude: 1, longitude: -0.5, timestamp: 7)))),
        ])
        #expect(
            fields.encoded().text
                == #"{"B":{"value":5,"type":"TIMESTAMP"},"#
                + #""file":{"value":{"fileChecksum":"c","size":9},"type":"ASSETID"},"#
                + #""link":{"value":{"recordName":"A","zoneID":{"zoneName":"_defaultZone"},"action":"NONE"},"type":"REFERENCE"},"#
                + #""place":{"value":{"latitude":1.0,"longitude":-0.5,"timestamp":7},"type":"LOCATION"},"#
                + #""secret":{"value":"AQI=","type":"BYTES","isEncrypted":true},"#
                + #""tags":{"value":[],"type":"STRING_LIST"},"title":{"value":"Dusk","type":"STRING"},"#
                + #""what":{"value":[],"type":"UNKNOWN_LIST"},"é":{"value":3.0,"type":"DOUBLE"}}"#)
        #expect(RecordFields().encoded() == .empty)
    }

    @Test(
        arguments: [
            (0.1, "0.1"), (1, "1.0"), (-0.0, "-0.0"), (.leastNonzeroMagnitude, "5e-324"), (1e20, "1e+20"),
            (1e21, "1e+21"),
            (1.2345678901234568e20, "123456789012345683968.0"), (1.7976931348623157e308, "1.7976931348623157e+308"),
            (0.30000000000000004, "0.30000000000000004"), (1e-7, "1e-07"),
        ])
    func `doubles are written in their shortest form`(value: Double, expected: String) throws {
        let fields = RecordFields([.init(name: "f", field: Field(.double(value)))])
        #expect(fields.encoded().text == #"{"f":{"value":\#(expected),"type":"DOUBLE"}}"#)
        guard case .double(let back)? = try fields.encoded().decoded()["f"]?.value else {
            Issue.record("expected a double")
            return
        }
        #expect(back.bitPattern == value.bitPattern)
    }

    @Test func `a date has its milliseconds, and its finer fraction beside them if there is one`() throws {
        let fine = Timestamp(Date(timeIntervalSinceReferenceDate: 785_000_000.123_456_7))
        let fields = RecordFields([
            .init(name: "a", field: Field(.timestamp(fine))),
            .init(name: "b", field: Field(.list(of: .timestamp, [.timestamp(5), .timestamp(fine)]))),
            .init(name: "c", field: Field(.list(of: .timestamp, [.timestamp(5), .timestamp(6)]))),
            .init(name: "d", field: Field(.location(LocationValue(latitude: 1, longitude: 2, timestamp: fine)))),
        ])
        #expect(
            fields.encoded().text
                == #"{"a":{"value":1763307200123,"type":"TIMESTAMP","nephosSeconds":785000000.1234567},"#
                + #""b":{"value":[5,1763307200123],"type":"TIMESTAMP_LIST","nephosSeconds":[null,785000000.1234567]},"#
                + #""c":{"value":[5,6],"type":"TIMESTAMP_LIST"},"d":{"value":{"latitude":1.0,"longitude":2.0,"#
                + #""timestamp":1763307200123,"nephosSeconds":785000000.1234567},"type":"LOCATION"}}"#)
        #expect(try fields.encoded().decoded() == fields)
    }

    @Test func `strings are escaped only if JSON demands it`() {
        let fields = RecordFields([
            .init(name: "f", field: Field(.string("a/\"\\\u{0}\u{8}\t\n\u{C}\r\u{1F}\u{7F}é\u{2028}😀")))
        ])
        #expect(
            fields.encoded().text
                == "{\"f\":{\"value\":\"a/\\\"\\\\\\u0000\\b\\t\\n\\f\\r\\u001f\u{7F}é\u{2028}😀\",\"type\":\"STRING\"}}"
        )
    }

    @Test func `a merge replaces, adds and removes fields and keeps the bytes of all others`() {
        let changes = RecordFields([
            .init(name: "A", field: Field(.int64(0))),
            .init(name: "a", field: Field(nil)),
            .init(name: "b\"c", field: Field(.string("new"))),
            .init(name: "nothing", field: Field(nil)),
            .init(name: "zz", field: Field(.int64(9))),
        ])
        #expect(
            EncodedFields(Self.sample).merging(changes).text
                == #"{"A":{"value":0,"type":"INT64"},"b\"c":{"value":"new","type":"STRING"},"#
                + #""d":{"value":"{\"","type":"STRING","isEncrypted":true},"zz":{"value":9,"type":"INT64"},"#
                + #""é":{"value":0.5,"type":"DOUBLE"}}"#)
        #expect(EncodedFields(Self.sample).merging(RecordFields()).text == Self.sample)
        #expect(EncodedFields.empty.merging(changes) == changes.encoded())
    }

    @Test func `a selection keeps the bytes of the desired fields`() {
        let fields = EncodedFields(Self.sample)
        #expect(
            fields.selecting(["é", "b\"c", "absent"]).text
                == #"{"b\"c":{"value":["x\"}",{"y":1}],"type":"STRING_LIST"},"é":{"value":0.5,"type":"DOUBLE"}}"#)
        #expect(fields.selecting([]) == .empty)
        #expect(fields.selecting(["a", "b\"c", "d", "é"]) == fields)
    }

    @Test(
        arguments: [
            #"{ "b":{"value":2,"type":"INT64"}, "a":{"value":1} }"#,
            #"{"b":{"value":2},"a":{"value":1}}"#,
            #"{"\u0061":{"value":1},"b":{"value":2}}"#,
            #"{"a":{"value":7},"a":{"value":1},"b":{"value":2}}"#,
        ])
    func `foreign JSON is edited through decoding`(json: String) {
        let fields = EncodedFields(json)
        #expect(
            fields.merging(RecordFields([.init(name: "c", field: Field(.int64(3)))])).text
                == #"{"a":{"value":1,"type":"INT64"},"b":{"value":2,"type":"INT64"},"c":{"value":3,"type":"INT64"}}"#)
        #expect(fields.selecting(["b"]).text == #"{"b":{"value":2,"type":"INT64"}}"#)
    }

    @Test func `numbersAsStrings quotes numbers and dates, also in lists, and nothing else`() throws {
        let fields = RecordFields([
            .init(name: "a", field: Field(.int64(.max))),
            .init(name: "b", field: Field(.double(0.5))),
            .init(name: "c", field: Field(.timestamp(7))),
            .init(name: "d", field: Field(.list(of: .int64, [.int64(1), .int64(-2)]))),
            .init(name: "e", field: Field(.string("1"))),
            .init(name: "f", field: Field(.location(LocationValue(latitude: 1, longitude: 2)))),
            .init(name: "g", field: Field(.list(of: .double, []))),
            .init(name: "h", field: Field(.int64(3), isEncrypted: true)),
        ]).encoded()
        #expect(
            fields.withNumbersAsStrings().text
                == #"{"a":{"value":"9223372036854775807","type":"INT64"},"b":{"value":"0.5","type":"DOUBLE"},"#
                + #""c":{"value":"7","type":"TIMESTAMP"},"d":{"value":["1","-2"],"type":"INT64_LIST"},"#
                + #""e":{"value":"1","type":"STRING"},"f":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"},"#
                + #""g":{"value":[],"type":"DOUBLE_LIST"},"h":{"value":"3","type":"INT64","isEncrypted":true}}"#)
        #expect(try fields.withNumbersAsStrings().decoded() == fields.decoded())
    }

    @Test func `references are found in fields and in lists`() {
        let a = ReferenceValue(recordName: "A", action: .deleteSelf)
        let b = ReferenceValue(recordName: "B", zoneID: ZoneIDDictionary(zoneName: "Z"))
        let fields = RecordFields([
            .init(name: "note", field: Field(.string("\"REFERENCE\""))),
            .init(name: "owner", field: Field(.reference(a))),
            .init(name: "seen", field: Field(.list(of: .reference, [.reference(b), .reference(a)]))),
        ])
        for found in [fields.references(), fields.encoded().references()] {
            #expect(found.map(\.name) == ["owner", "seen", "seen"])
            #expect(found.map(\.reference) == [a, b, a])
        }
        #expect(EncodedFields(#"{"n":{"value":"\"REFERENCE","type":"STRING"}}"#).references().isEmpty)
        #expect(EncodedFields.empty.references().isEmpty)
    }

    @Test(
        arguments: [
            (FieldValue.string("é日"), 5), (.int64(1), 8), (.double(1), 8), (.timestamp(1), 8), (.bytes([1, 2, 3]), 3),
            (.location(LocationValue(latitude: 1, longitude: 2)), 16),
            (.location(LocationValue(latitude: 1, longitude: 2, altitude: 3, timestamp: 4)), 32),
            (.reference(ReferenceValue(recordName: "abc")), 3),
            (
                .reference(
                    ReferenceValue(
                        recordName: "abc", zoneID: ZoneIDDictionary(zoneName: "zz", ownerRecordName: "o"))), 6
            ),
            (.asset(AssetValue(fileChecksum: "c", size: 1_000_000)), 0),
            (.list(of: .string, [.string("ab"), .string("c")]), 3),
        ])
    func `the stored size counts names and data, not assets`(value: FieldValue, size: Int) {
        let fields = RecordFields([
            .init(name: "name", field: Field(value)), .init(name: "cleared", field: Field(nil)),
        ])
        #expect(fields.storedSize == size + 4)
    }

    @Test(
        arguments: [
            (FieldValue.double(.nan), "field 'f': expected a finite number, found nan"),
            (.double(-.infinity), "field 'f': expected a finite number, found -inf"),
            (
                .list(of: .double, [.double(1), .double(.infinity)]),
                "field 'f': expected a finite number, found inf"
            ),
            (.list(of: .string, [.int64(1)]), "field 'f': expected STRING in the list, found INT64"),
            (
                .timestamp(Timestamp(Date(timeIntervalSinceReferenceDate: .nan))),
                "field 'f': expected a date, found one nan seconds away"
            ),
            (
                .location(LocationValue(latitude: 90.5, longitude: 0)),
                "field 'f': expected a latitude from -90 to 90, found 90.5"
            ),
            (
                .location(LocationValue(latitude: 0, longitude: -181)),
                "field 'f': expected a longitude from -180 to 180, found -181.0"
            ),
            (
                .location(LocationValue(latitude: 1, longitude: 2, speed: .nan)),
                "field 'f': expected finite numbers in a location, found nan"
            ),
        ])
    func `values that JSON cannot carry are refused by name`(value: FieldValue, message: String) {
        let fields = RecordFields([.init(name: "f", field: Field(value))])
        #expect(fields.problem == message)
    }

    @Test func `a valid record has no problem`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<100 { #expect(random.fields(clearing: true).problem == nil) }
    }
}
