import NephosWire
import Testing

/// Answers of CloudKit Web Services, byte for byte.
struct ResponseTests {
    private static let caller = "_0123456789abcdef0123456789abcdef"

    @Test func `records/modify answers with records, deletions and errors in order`() throws {
        let stamp = TimestampDictionary(timestamp: 1_760_001_000_000, userRecordName: Self.caller, deviceID: "2")
        let response = RecordsResponse(records: [
            .record(
                RecordDictionary(
                    recordName: "A-18", recordType: "Artwork", recordChangeTag: "k4",
                    fields: EncodedFields(
                        #"{"title":{"value":"Noon","type":"STRING"},"year":{"value":1932,"type":"INT64"}}"#),
                    created: stamp, modified: stamp)),
            .failure(
                ErrorDictionary(
                    uuid: "6b1c0c5e", serverErrorCode: .conflict, reason: "client oplock error updating record",
                    recordName: "A-17")),
            .deleted(DeletedRecord(recordName: "A-03")),
        ])
        let json =
            #"{"records":[{"recordName":"A-18","recordType":"Artwork","recordChangeTag":"k4","#
            + #""fields":{"title":{"value":"Noon","type":"STRING"},"year":{"value":1932,"type":"INT64"}},"#
            + #""pluginFields":{},"deleted":false,"#
            + #""created":{"timestamp":1760001000000,"userRecordName":"\#(Self.caller)","deviceID":"2"},"#
            + #""modified":{"timestamp":1760001000000,"userRecordName":"\#(Self.caller)","deviceID":"2"}},"#
            + #"{"uuid":"6b1c0c5e","serverErrorCode":"CONFLICT","reason":"client oplock error updating record","#
            + #""recordName":"A-17"},{"recordName":"A-03","deleted":true}]}"#
        #expect(text(response.encoded()) == json)
        #expect(try RecordsResponse(decoding: bytes(json)) == response)
    }

    @Test func `a record outside the request's zone names its zone, and its parent and share have no action`() throws {
        let zone = ZoneIDDictionary(zoneName: "Gallery", ownerRecordName: "_o")
        let response = RecordsResponse(records: [
            .record(
                RecordDictionary(
                    recordName: "A", recordType: "T", recordChangeTag: "1", zoneID: zone,
                    parent: ReferenceValue(recordName: "P"),
                    share: ReferenceValue(recordName: "S", zoneID: .defaultZone))),
            .deleted(DeletedRecord(recordName: "B", recordType: "T", zoneID: zone)),
        ])
        let zoneJSON = #""zoneID":{"zoneName":"Gallery","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}"#
        #expect(
            text(response.encoded())
                == #"{"records":[{"recordName":"A","recordType":"T","recordChangeTag":"1","fields":{},"#
                + #""pluginFields":{},"deleted":false,"# + zoneJSON
                + #","parent":{"recordName":"P"},"share":{"recordName":"S","zoneID":{"zoneName":"_defaultZone"}}},"#
                + #"{"recordName":"B","deleted":true,"recordType":"T","# + zoneJSON + "}]}")
        #expect(try RecordsResponse(decoding: response.encoded()) == response)
    }

    @Test func `an error carries every key it has, the server's record last`() throws {
        var error = ErrorDictionary(
            uuid: "u", serverErrorCode: .throttled, reason: "say \"please\"", retryAfter: 30, redirectURL: "http://x/",
            recordName: "A", zoneID: .defaultZone, subscriptionID: "s", clientErrorCode: 14,
            serverRecord: RecordDictionary(recordName: "A", recordType: "T", recordChangeTag: "2"))
        error.duplicateOf = "t"
        #expect(
            text(error.encoded())
                == #"{"uuid":"u","serverErrorCode":"THROTTLED","reason":"say \"please\"","retryAfter":30,"#
                + #""redirectURL":"http://x/","recordName":"A","zoneID":{"zoneName":"_defaultZone","#
                + #""zoneType":"DEFAULT_ZONE"},"subscriptionID":"s","nephosErrorCode":14,"#
                + #""nephosDuplicateOf":"t","#
                + #""serverRecord":{"recordName":"A","recordType":"T","recordChangeTag":"2","fields":{},"#
                + #""pluginFields":{},"deleted":false}}"#)
        #expect(try ErrorDictionary(decoding: error.encoded()) == error)
    }

    @Test func `an error keeps a fractional retryAfter`() throws {
        let error = ErrorDictionary(uuid: "u", serverErrorCode: .tryAgainLater, reason: "", retryAfter: 0.25)
        #expect(text(error.encoded()).contains(#""retryAfter":0.25"#))
        #expect(try ErrorDictionary(decoding: error.encoded()) == error)
    }

    @Test(arguments: ServerErrorCode.allCases)
    func `every server error code round-trips`(code: ServerErrorCode) throws {
        let error = ErrorDictionary(uuid: "u", serverErrorCode: code, reason: "r")
        #expect(try ErrorDictionary(decoding: error.encoded()) == error)
    }

    @Test func `an unknown server error code is kept in the reason`() throws {
        let error = try ErrorDictionary(
            decoding: bytes(
                #"{"serverErrorCode":"UNIQUE_FIELD_ERROR","reason":"taken","redirectUrl":"u","subscriptionId":"s"}"#))
        #expect(
            error
                == ErrorDictionary(
                    uuid: "", serverErrorCode: .internalError, reason: "UNIQUE_FIELD_ERROR: taken", redirectURL: "u",
                    subscriptionID: "s"))
    }

    @Test func `an item is an error exactly when it has a server error code`() throws {
        let response = try RecordsResponse(
            decoding: bytes(
                """
                {"records":[{"recordName":"A","recordType":"T","recordChangeTag":"1","serverErrorCode":null},
                  {"recordName":"B","serverErrorCode":"NOT_FOUND"},{"recordName":"C","deleted":true}],"syncToken":"AQ"}
                """))
        #expect(
            response.records == [
                .record(RecordDictionary(recordName: "A", recordType: "T", recordChangeTag: "1")),
                .failure(ErrorDictionary(uuid: "", serverErrorCode: .notFound, reason: "", recordName: "B")),
                .deleted(DeletedRecord(recordName: "C")),
            ])
    }

    @Test(
        arguments: [
            ("{}", "records: expected an array, found nothing"),
            (
                #"{"records":[{"recordType":"T","recordChangeTag":"1"}]}"#,
                "records[0].recordName: expected a string, found nothing"
            ),
            (
                #"{"records":[{"recordName":"A","recordType":"T","recordChangeTag":"1","created":{"timestamp":0.5}}]}"#,
                "records[0].created.timestamp: expected a date in whole milliseconds, found the number 0.5"
            ),
            (
                #"{"records":[{"recordName":"A","recordType":"T","recordChangeTag":"1","fields":5}]}"#,
                "records[0].fields: expected an object of fields, found the number 5"
            ),
        ])
    func `a malformed answer is refused at its path`(body: String, message: String) {
        #expect(error(RecordsResponse.self, body)?.description == message)
    }

    @Test func `another server's fields arrive in canonical form`() throws {
        let response = try RecordsResponse(
            decoding: bytes(
                """
                {"records": [ {"recordName":"A", "recordType":"T", "recordChangeTag":"1",
                  "fields" : { "b" : {"type":"STRING","value":"x"}, "a" : {"value":1,"type":"INT64"} } } ]}
                """))
        guard case .record(let record) = response.records[0] else {
            Issue.record("expected a record")
            return
        }
        #expect(
            try record.fields.decoded()
                == RecordFields([
                    .init(name: "a", field: Field(.int64(1))), .init(name: "b", field: Field(.string("x"))),
                ]))
    }

    @Test func `zones have their type, token and capabilities`() throws {
        let response = ZonesResponse(zones: [
            .zone(
                ZoneDictionary(zoneID: ZoneIDDictionary(zoneName: "_defaultZone", ownerRecordName: "_o"), atomic: false)
            ),
            .zone(
                ZoneDictionary(
                    zoneID: ZoneIDDictionary(zoneName: "Gallery"), syncToken: "AQAAAWxQ", atomic: true, deleted: true)),
            .failure(
                ErrorDictionary(
                    uuid: "u", serverErrorCode: .zoneNotFound, reason: "no", zoneID: ZoneIDDictionary(zoneName: "X"))),
        ])
        let json =
            #"{"zones":[{"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_o","zoneType":"DEFAULT_ZONE"},"#
            + #""atomic":false,"deleted":false},{"zoneID":{"zoneName":"Gallery","zoneType":"REGULAR_CUSTOM_ZONE"},"#
            + #""syncToken":"AQAAAWxQ","atomic":true,"deleted":true},{"uuid":"u","serverErrorCode":"ZONE_NOT_FOUND","#
            + #""reason":"no","zoneID":{"zoneName":"X","zoneType":"REGULAR_CUSTOM_ZONE"}}]}"#
        #expect(text(response.encoded()) == json)
        #expect(try ZonesResponse(decoding: bytes(json)) == response)
    }

    @Test func `a user is written in both forms and read from either`() throws {
        let user = UserDictionary(userRecordName: "_u", firstName: "Mei", lastName: "Chen")
        #expect(
            text(user.encoded())
                == #"{"userRecordName":"_u","firstName":"Mei","lastName":"Chen","#
                + #""nameComponents":{"givenName":"Mei","familyName":"Chen"}}"#)
        #expect(try UserDictionary(decoding: user.encoded()) == user)
        #expect(
            try UserDictionary(
                decoding: bytes(
                    #"{"userRecordName":"_u","nameComponents":{"givenName":"Mei","familyName":"Chen"}}"#)) == user)
        let bare = UserDictionary(userRecordName: "_u")
        #expect(text(bare.encoded()) == #"{"userRecordName":"_u"}"#)
        #expect(try UserDictionary(decoding: bare.encoded()) == bare)
        #expect(error(UserDictionary.self, "{}")?.description == "userRecordName: expected a string, found nothing")
    }
}
