import FoundationEssentials
import NephosWire
import Testing

/// How CloudKit Web Services writes the fields of a record.
struct FieldDecodingTests {
    @Test(
        arguments: [
            (#"{"f":{"type":"STRING"}}"#, true), (#"{"f":{"type":"LIST"}}"#, true),
            (#"{"f":{"type":"BYTES","isEncrypted":true}}"#, true), (#"{"f":{"type":"STRING","vale":"a"}}"#, false),
            (#"{"f":{}}"#, false), (#"{"f":{"type":null}}"#, false), (#"{"f":{"vale":"a"}}"#, false),
        ])
    func `a type without a value clears the field, and a misspelt key is refused`(_ text: String, _ isNull: Bool) throws
    {
        func decoded() throws -> RecordFields {
            try Array(text.utf8).withUnsafeBytes { try RecordFields(decoding: $0) }
        }
        if isNull {
            let field = try #require(try decoded()["f"])
            #expect(field.value == nil)
        } else {
            #expect(throws: WireError.self) { _ = try decoded() }
        }
    }

    @Test(
        arguments: [
            (#"{"value":"Dusk","type":"STRING"}"#, FieldValue.string("Dusk")),
            (#"{"value":"","type":"STRING"}"#, .string("")),
            (#"{"value":1932,"type":"INT64"}"#, .int64(1932)),
            (#"{"value":9007199254740993,"type":"INT64"}"#, .int64(9_007_199_254_740_993)),
            (#"{"value":-9223372036854775808,"type":"INT64"}"#, .int64(.min)),
            (#"{"value":9223372036854775807,"type":"INT64"}"#, .int64(.max)),
            (#"{"value":1.0,"type":"INT64"}"#, .int64(1)),
            (#"{"value":1e3,"type":"INT64"}"#, .int64(1000)),
            (#"{"value":"9007199254740993","type":"INT64"}"#, .int64(9_007_199_254_740_993)),
            (#"{"value":"-9223372036854775808","type":"INT64"}"#, .int64(.min)),
            (#"{"value":true,"type":"INT64"}"#, .int64(1)),
            (#"{"value":false,"type":"BOOLEAN"}"#, .int64(0)),
            (#"{"value":1,"type":"BOOLEAN"}"#, .int64(1)),
            (#"{"value":5,"type":"NUMBER_INT64"}"#, .int64(5)),
            (#"{"value":5,"type":"NUMBER_DOUBLE"}"#, .double(5)),
            (#"{"value":0.5,"type":"DOUBLE"}"#, .double(0.5)),
            (#"{"value":3,"type":"DOUBLE"}"#, .double(3)),
            (#"{"value":18446744073709551615,"type":"DOUBLE"}"#, .double(0x1p64)),
            (#"{"value":100000000000000000000,"type":"DOUBLE"}"#, .double(1e20)),
            (#"{"value":-123456789012345680000,"type":"DOUBLE"}"#, .double(-1.2345678901234568e20)),
            (#"{"value":"1e-7","type":"DOUBLE"}"#, .double(1e-7)),
            (#"{"value":"AQID","type":"BYTES"}"#, .bytes([1, 2, 3])),
            (#"{"value":"+/8=","type":"BYTES"}"#, .bytes([0xFB, 0xFF])),
            (#"{"value":"AA==","type":"BYTES"}"#, .bytes([0])),
            (#"{"value":"","type":"BYTES"}"#, .bytes([])),
            (#"{"value":1760001000000,"type":"TIMESTAMP"}"#, .timestamp(1_760_001_000_000)),
            (#"{"value":-1,"type":"DATETIME"}"#, .timestamp(-1)),
            (#"{"value":978307200500,"type":"TIMESTAMP","nephosSeconds":0.5001}"#, .timestamp(seconds(0.5001))),
            (#"{"nephosSeconds":"0.5001","value":978307200500,"type":"TIMESTAMP"}"#, .timestamp(seconds(0.5001))),
            // Who changed the date and knew nothing of the rest meant the date.
            (#"{"value":978307200501,"type":"TIMESTAMP","nephosSeconds":0.5001}"#, .timestamp(978_307_200_501)),
            (
                #"{"value":[5,978307200500,6],"type":"TIMESTAMP_LIST","nephosSeconds":[null,0.5001]}"#,
                .list(of: .timestamp, [.timestamp(5), .timestamp(seconds(0.5001)), .timestamp(6)])
            ),
            (
                #"{"value":{"latitude":1,"longitude":2,"timestamp":978307200500,"nephosSeconds":0.5001},"type":"LOCATION"}"#,
                .location(LocationValue(latitude: 1, longitude: 2, timestamp: seconds(0.5001)))
            ),
            (#"{"value":1,"type":"INT64","nephosSeconds":0.5001}"#, .int64(1)),
            (#"{"value":1760001000000.0,"type":"TIMESTAMP"}"#, .timestamp(1_760_001_000_000)),
            (#"{"value":"1760001000000","type":"TIMESTAMP"}"#, .timestamp(1_760_001_000_000)),
            (
                #"{"value":{"latitude":48.5,"longitude":-3,"altitude":12,"timestamp":7},"type":"LOCATION"}"#,
                .location(LocationValue(latitude: 48.5, longitude: -3, altitude: 12, timestamp: 7))
            ),
            (
                #"{"value":{"recordName":"A","action":"DELETE_SELF"},"type":"REFERENCE"}"#,
                .reference(ReferenceValue(recordName: "A", action: .deleteSelf))
            ),
            (
                #"{"value":{"recordName":"A","zoneID":{"zoneName":"Z","ownerRecordName":"_o","zoneType":"X"}},"type":"REFERENCE"}"#,
                .reference(
                    ReferenceValue(
                        recordName: "A", zoneID: ZoneIDDictionary(zoneName: "Z", ownerRecordName: "_o")))
            ),
            (
                #"{"value":{"fileChecksum":"c","size":5,"receipt":"r"},"type":"ASSET"}"#,
                .asset(AssetValue(fileChecksum: "c", size: 5, receipt: "r"))
            ),
            (
                #"{"value":{"fileChecksum":"c","size":"5","wrappingKey":"w","referenceChecksum":"x","downloadURL":"u"},"type":"ASSETID"}"#,
                .asset(
                    AssetValue(
                        fileChecksum: "c", size: 5, wrappingKey: "w", referenceChecksum: "x", downloadURL: "u"))
            ),
            (#"{"value":["a","b"],"type":"STRING_LIST"}"#, .list(of: .string, [.string("a"), .string("b")])),
            (#"{"value":[],"type":"STRING_LIST"}"#, .list(of: .string, [])),
            (
                #"{"value":[1,2.0,"3",true],"type":"INT64_LIST"}"#,
                .list(of: .int64, [.int64(1), .int64(2), .int64(3), .int64(1)])
            ),
            (#"{"value":[1],"type":"DOUBLE_LIST"}"#, .list(of: .double, [.double(1)])),
            (#"{"value":["AQ=="],"type":"BYTES_LIST"}"#, .list(of: .bytes, [.bytes([1])])),
            (#"{"value":[5],"type":"DATETIME_LIST"}"#, .list(of: .timestamp, [.timestamp(5)])),
            (
                #"{"value":[{"fileChecksum":"c","size":1}],"type":"ASSET_LIST"}"#,
                .list(of: .asset, [.asset(AssetValue(fileChecksum: "c", size: 1))])
            ),
            (
                #"{"value":[{"value":"a","type":"STRING"},{"value":"b"},"c"],"type":"STRING_LIST"}"#,
                .list(of: .string, [.string("a"), .string("b"), .string("c")])
            ),
            (
                #"{"value":[{"value":{"recordName":"A"}}],"type":"REFERENCE_LIST"}"#,
                .list(of: .reference, [.reference(ReferenceValue(recordName: "A"))])
            ),
            (#"{"value":[],"type":"EMPTY_LIST"}"#, .list(of: .unknown, [])),
            (#"{"value":[],"type":"UNKNOWN_LIST"}"#, .list(of: .unknown, [])),
            (#"{"value":[{"value":"AQ==","type":"BYTES"}],"type":"LIST"}"#, .list(of: .bytes, [.bytes([1])])),
        ])
    func `a declared type decides the meaning of a value`(json: String, expected: FieldValue) throws {
        let field = try #require(try field(json))
        #expect(field.value == expected)
        #expect(field.hasDeclaredType)
        #expect(!field.isEncrypted)
    }

    @Test(
        arguments: [
            (#"{"value":"Noon"}"#, FieldValue.string("Noon")),
            (#"{"value":1932}"#, .int64(1932)),
            (#"{"value":1.5,"type":null}"#, .double(1.5)),
            (#"{"value":2.0}"#, .double(2)),
            (#"{"value":1e300}"#, .double(1e300)),
            (#"{"value":true}"#, .int64(1)),
            (#"{"value":{"latitude":1,"longitude":2}}"#, .location(LocationValue(latitude: 1, longitude: 2))),
            (#"{"value":{"recordName":"A","action":"NONE"}}"#, .reference(ReferenceValue(recordName: "A"))),
            (#"{"value":{"size":3,"fileChecksum":"c"}}"#, .asset(AssetValue(fileChecksum: "c", size: 3))),
            (
                #"{"value":{"receipt":"r","size":3,"fileChecksum":"c"}}"#,
                .asset(AssetValue(fileChecksum: "c", size: 3, receipt: "r"))
            ),
            (#"{"value":[]}"#, .list(of: .unknown, [])),
            (#"{"value":["a"]}"#, .list(of: .string, [.string("a")])),
            (#"{"value":[1,2.5,3]}"#, .list(of: .double, [.double(1), .double(2.5), .double(3)])),
            (#"{"value":[{"recordName":"A"}]}"#, .list(of: .reference, [.reference(ReferenceValue(recordName: "A"))])),
            (#"{"value":["a"],"type":"LIST"}"#, .list(of: .string, [.string("a")])),
            (#"{"value":[1],"type":"UNKNOWN_LIST"}"#, .list(of: .int64, [.int64(1)])),
        ])
    func `without a type the value's shape decides`(json: String, expected: FieldValue) throws {
        let field = try #require(try field(json))
        #expect(field.value == expected)
        #expect(!field.hasDeclaredType)
    }

    @Test(
        arguments: [
            (#"{"value":"s","type":"STRING","isEncrypted":true}"#, FieldValue.string("s")),
            (#"{"value":"s","type":"ENCRYPTED_STRING"}"#, .string("s")),
            (
                #"{"value":"AQ==","type":"ENCRYPTED_BYTES"}"#,
                .sealed(SealedFieldValue(type: FieldType(.bytes), bytes: [1]))
            ),
            (#"{"value":[1],"type":"ENCRYPTED_INT64_LIST","isEncrypted":null}"#, .list(of: .int64, [.int64(1)])),
        ])
    func `an encrypted field says so in a key or in its type`(json: String, expected: FieldValue) throws {
        let field = try #require(try field(json))
        #expect(field == Field(expected, isEncrypted: true))
    }

    @Test(
        arguments: [
            #"{"value":null}"#, #"{"value":null,"type":"STRING"}"#, #"null"#,
        ])
    func `a null value clears the field`(json: String) throws {
        #expect(try field(json) == Field(nil))
    }

    @Test(
        arguments: [
            (
                #"{"value":5,"type":"STRING"}"#,
                "f.value: field 'f', declared STRING: expected a string, found the number 5"
            ),
            (
                #"{"value":"x","type":"INT64"}"#,
                "f.value: field 'f', declared INT64: expected an integer, found the string \"x\""
            ),
            (
                #"{"value":1.5,"type":"INT64"}"#,
                "f.value: field 'f', declared INT64: expected an integer, found the number 1.5"
            ),
            (
                #"{"value":9223372036854775808,"type":"INT64"}"#,
                "f.value: field 'f', declared INT64: expected an integer within the 64 bits of INT64, "
                    + "found the number 9223372036854775808"
            ),
            (
                #"{"value":-9223372036854775809,"type":"INT64"}"#,
                "f.value: field 'f', declared INT64: expected an integer within the 64 bits of INT64, "
                    + "found the number -9.223372036854776e+18"
            ),
            (
                #"{"value":100000000000000000000,"type":"INT64"}"#,
                "f.value: field 'f', declared INT64: expected an integer within the 64 bits of INT64, "
                    + "found the number 1e+20"
            ),
            (
                #"{"value":9223372036854775808}"#,
                "f.value: field 'f', expected an integer within the 64 bits of INT64, or the type DOUBLE, "
                    + "found the number 9223372036854775808"
            ),
            (
                #"{"value":100000000000000000000}"#,
                "f.value: field 'f', expected an integer within the 64 bits of INT64, or the type DOUBLE, "
                    + "found the number 1e+20"
            ),
            (
                #"{"value":"NaN","type":"DOUBLE"}"#,
                "f.value: field 'f', declared DOUBLE: expected a number, found the string \"NaN\""
            ),
            (
                #"{"value":"1e999","type":"DOUBLE"}"#,
                "f.value: field 'f', declared DOUBLE: expected a number, found the string \"1e999\""
            ),
            (#"{"value":true,"type":"DOUBLE"}"#, "f.value: field 'f', declared DOUBLE: expected a number, found true"),
            (
                #"{"value":0.5,"type":"TIMESTAMP"}"#,
                "f.value: field 'f', declared TIMESTAMP: expected a date in whole milliseconds, found the number 0.5"
            ),
            (
                #"{"value":true,"type":"TIMESTAMP"}"#,
                "f.value: field 'f', declared TIMESTAMP: expected a date in whole milliseconds, found true"
            ),
            (
                #"{"value":{"latitude":1,"longitude":2,"timestamp":0.5},"type":"LOCATION"}"#,
                "f.value.timestamp: field 'f', declared LOCATION: expected a date in whole milliseconds, "
                    + "found the number 0.5"
            ),
            (
                #"{"value":{"latitude":1},"type":"LOCATION"}"#,
                "f.value.longitude: field 'f', declared LOCATION: expected a number, found nothing"
            ),
            (
                #"{"value":"A","type":"REFERENCE"}"#,
                "f.value: field 'f', declared REFERENCE: expected a reference, found the string \"A\""
            ),
            (
                #"{"value":{"action":"NONE"},"type":"REFERENCE"}"#,
                "f.value.recordName: field 'f', declared REFERENCE: expected a string, found nothing"
            ),
            (
                #"{"value":{"recordName":"A","action":"CASCADE"},"type":"REFERENCE"}"#,
                "f.value.action: field 'f', declared REFERENCE: expected one of NONE, DELETE_SELF, VALIDATE, "
                    + "found the string \"CASCADE\""
            ),
            (
                #"{"value":{"size":1},"type":"ASSETID"}"#,
                "f.value.fileChecksum: field 'f', declared ASSETID: expected a string, found nothing"
            ),
            (
                #"{"value":"A","type":"BYTES"}"#,
                "f.value: field 'f', declared BYTES: expected a base64 string, found the string \"A\""
            ),
            (
                #"{"value":"A=AA","type":"BYTES"}"#,
                "f.value: field 'f', declared BYTES: expected a base64 string, found the string \"A=AA\""
            ),
            (
                #"{"value":["a",1],"type":"STRING_LIST"}"#,
                "f.value[1]: field 'f', declared STRING_LIST: expected a string, found the number 1"
            ),
            (
                #"{"value":["a",null],"type":"STRING_LIST"}"#,
                "f.value[1]: field 'f', declared STRING_LIST: expected a string, found null"
            ),
            (
                #"{"value":"a","type":"STRING_LIST"}"#,
                "f.value: field 'f', declared STRING_LIST: expected an array, found the string \"a\""
            ),
            (
                #"{"value":["a"],"type":"STRING"}"#,
                "f.value: field 'f', declared STRING: expected a string, found an array"
            ),
            (
                #"{"value":[{"value":1,"type":"INT64"}],"type":"STRING_LIST"}"#,
                "f.value[0]: field 'f', declared STRING_LIST: expected an element of type STRING, found an object"
            ),
            (
                #"{"value":["a",1]}"#,
                "f.value[1]: field 'f', expected an element of type STRING as before it, found the number 1"
            ),
            (#"{"value":[[1]]}"#, "f.value[0]: field 'f', a list cannot hold a list"),
            (
                #"{"value":{}}"#,
                "f.value: field 'f', expected a location (latitude), a reference (recordName) or an asset (fileChecksum)"
            ),
            (
                #"{"value":"a","isEncrypted":"yes"}"#,
                "f.isEncrypted: field 'f', expected true or false, found the string \"yes\""
            ),
            (#"{}"#, "f.value: field 'f', expected a value, or null to clear the field, found nothing"),
            (
                #"{"Value":1,"type":"INT64"}"#,
                "f.value: field 'f', expected a value, or null to clear the field, found nothing"
            ),
            (#""Dusk""#, "f: field 'f', expected a dictionary with the key \"value\", found the string \"Dusk\""),
        ])
    func `a wrong value is refused with its field, the declared type and the value's type`(
        json: String, message: String
    ) throws {
        let error = try #require(throws: WireError.self) { try field(json) }
        #expect(error.description == message)
    }

    @Test func `a date that would lose precision is refused, alone, in a list and in a location`() throws {
        let large = [Int64(1) << 53 + 1, -(Int64(1) << 60) - 1, .max - 1].filter {
            Timestamp(milliseconds: $0).milliseconds != $0
        }
        #expect(large.count == 3)
        for time in large {
            for json in [
                #"{"value":\#(time),"type":"TIMESTAMP"}"#, #"{"value":[1,\#(time)],"type":"TIMESTAMP_LIST"}"#,
                #"{"value":{"latitude":1,"longitude":2,"timestamp":\#(time)},"type":"LOCATION"}"#,
            ] {
                let error = try #require(throws: WireError.self) { try field(json) }
                #expect(error.reason.contains("that a double can say"), "\(json): \(error)")
            }
        }
        for time: Int64 in [1 << 51, -(1 << 51), 1_000, 64_092_211_200_000] {
            #expect(
                try field(#"{"value":\#(time),"type":"TIMESTAMP"}"#)?.value == .timestamp(Timestamp(milliseconds: time))
            )
        }
        // What our own library sends of a date far away says more than its milliseconds.
        for seconds in [1e13, -3e15, 1e300] {
            let value = FieldValue.timestamp(Timestamp(Date(timeIntervalSinceReferenceDate: seconds)))
            var fields = RecordFields()
            fields["f"] = Field(value)
            #expect(try EncodedFields(bytes: fields.encoded().bytes).decoded()["f"]?.value == value)
        }
    }

    @Test func `an unknown type is refused with the known types`() throws {
        let error = try #require(throws: WireError.self) { try field(#"{"value":"a","type":"TEXT"}"#) }
        #expect(error.path == "f.type")
        #expect(error.reason.contains("STRING, INT64"))
        #expect(error.reason.contains("\"TEXT\""))
    }

    @Test func `of duplicate names the last counts, in fields and inside them`() throws {
        let fields = try EncodedFields(
            #"{"a":{"value":1},"b":{"value":1,"value":2,"type":"STRING","type":"INT64"},"a":{"value":3}}"#
        ).decoded()
        #expect(fields.entries.map(\.name) == ["a", "b"])
        #expect(fields["a"]?.value == .int64(3))
        #expect(fields["b"]?.value == .int64(2))
    }

    @Test func `names keep their bytes, so canonically equivalent names are two`() throws {
        let fields = try EncodedFields("{\"\u{E9}\":{\"value\":1},\"e\u{301}\":{\"value\":2}}").decoded()
        #expect(fields.count == 2)
        #expect(fields["\u{E9}"]?.value == .int64(1))
        #expect(fields["e\u{301}"]?.value == .int64(2))
    }
}

/// A moment, in seconds since 2001.
private func seconds(_ seconds: Double) -> Timestamp { Timestamp(Date(timeIntervalSinceReferenceDate: seconds)) }
