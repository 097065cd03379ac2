import NephosWire
import Testing

/// Requests of CloudKit Web Services, read from JSON and written to it.
struct RequestTests {
    @Test func `records/modify carries every option of a client`() throws {
        let request = try ModifyRecordsRequest(
            decoding: bytes(
                """
                {"operations":[
                  {"operationType":"create","record":{"recordName":"A-18","recordType":"Artwork",
                    "fields":{"year":{"value":1932},"title":{"value":"Noon","type":"STRING"}}},"recordType":"ignored"},
                  {"operationType":"update","record":{"recordName":"A-17","recordChangeTag":"k3",
                    "zoneID":{"zoneName":"Other","ownerRecordName":"_o"},"parent":{"recordName":"P"},
                    "fields":{"year":{"value":null}}},"desiredKeys":["title"],"numbersAsStrings":true},
                  {"operationType":"forceDelete","record":{"recordName":"A-03","parent":null,"fields":null}},
                  {"operationType":"create","record":{"recordName":null,"recordType":"Artwork"},"desiredKeys":null}],
                 "zoneID":{"zoneName":"Gallery","zoneType":"REGULAR_CUSTOM_ZONE"},"atomic":true,"desiredKeys":[],
                 "numbersAsStrings":true,"nephosServerRecord":true,"somethingNew":{"a":[1]}}
                """))
        let expected = ModifyRecordsRequest(
            operations: [
                RecordOperation(
                    operationType: .create,
                    record: RecordToModify(
                        recordName: "A-18", recordType: "Artwork",
                        fields: RecordFields([
                            .init(name: "title", field: Field(.string("Noon"))),
                            .init(name: "year", field: Field(.int64(1932), hasDeclaredType: false)),
                        ]))),
                RecordOperation(
                    operationType: .update,
                    record: RecordToModify(
                        recordName: "A-17", recordChangeTag: "k3",
                        zoneID: ZoneIDDictionary(zoneName: "Other", ownerRecordName: "_o"),
                        fields: RecordFields([.init(name: "year", field: Field(nil))]),
                        parent: .set(ReferenceValue(recordName: "P"))),
                    desiredKeys: ["title"], numbersAsStrings: true),
                RecordOperation(
                    operationType: .forceDelete, record: RecordToModify(recordName: "A-03", parent: .clear)),
                RecordOperation(operationType: .create, record: RecordToModify(recordType: "Artwork")),
            ],
            zoneID: ZoneIDDictionary(zoneName: "Gallery"), atomic: true, desiredKeys: [], numbersAsStrings: true,
            wantsServerRecord: true)
        #expect(request == expected)
    }

    @Test func `null counts as an absent key`() throws {
        let request = try ModifyRecordsRequest(
            decoding: bytes(
                """
                {"operations":[],"zoneID":null,"atomic":null,"desiredKeys":null,"numbersAsStrings":null,
                 "nephosServerRecord":null}
                """))
        #expect(request == ModifyRecordsRequest(operations: []))
        let lookup = try LookupRecordsRequest(
            decoding: bytes(
                """
                {"records":[{"recordName":"A","desiredKeys":null,"zoneID":null}],"zoneID":null,"desiredKeys":null,
                 "numbersAsStrings":null}
                """))
        #expect(lookup == LookupRecordsRequest(records: [.init(recordName: "A")]))
    }

    @Test(arguments: RecordOperation.OperationType.allCases)
    func `all seven operation types are known`(type: RecordOperation.OperationType) throws {
        let body = #"{"operations":[{"operationType":"\#(type.rawValue)","record":{}}]}"#
        #expect(try ModifyRecordsRequest(decoding: bytes(body)).operations.map(\.operationType) == [type])
    }

    @Test(
        arguments: [
            ("{}", "operations: expected an array of operations, found nothing"),
            (#"{"operations":null}"#, "operations: expected an array of operations, found nothing"),
            (#"{"operations":{}}"#, "operations: expected an array of operations, found an object"),
            (#"{"operations":[5]}"#, "operations[0]: expected an operation, found the number 5"),
            (
                #"{"operations":[{"record":{}}]}"#,
                "operations[0].operationType: expected one of create, update, forceUpdate, replace, forceReplace, "
                    + "delete, forceDelete, found nothing"
            ),
            (
                #"{"operations":[{"operationType":"upsert","record":{}}]}"#,
                "operations[0].operationType: expected one of create, update, forceUpdate, replace, forceReplace, "
                    + "delete, forceDelete, found the string \"upsert\""
            ),
            (#"{"operations":[{"operationType":"create"}]}"#, "operations[0].record: expected a record, found nothing"),
            (
                #"{"operations":[{"operationType":"create","record":{"recordName":5}}]}"#,
                "operations[0].record.recordName: expected a string, found the number 5"
            ),
            (
                #"{"operations":[{"operationType":"create","record":{"fields":[]}}]}"#,
                "operations[0].record.fields: expected an object of fields, found an array"
            ),
            (
                #"{"operations":[{"operationType":"delete","record":{}},{"operationType":"create","record":{"fields":{"title":{"value":5,"type":"STRING"}}}}]}"#,
                "operations[1].record.fields.title.value: field 'title', declared STRING: expected a string, "
                    + "found the number 5"
            ),
            (
                #"{"operations":[{"operationType":"create","record":{"parent":{}}}]}"#,
                "operations[0].record.parent.recordName: expected a string, found nothing"
            ),
            (#"{"operations":[],"zoneID":{}}"#, "zoneID.zoneName: expected a string, found nothing"),
            (#"{"operations":[],"zoneID":"Gallery"}"#, "zoneID: expected a zone ID, found the string \"Gallery\""),
            (#"{"operations":[],"atomic":1}"#, "atomic: expected true or false, found the number 1"),
            (#"{"operations":[],"desiredKeys":["a",1]}"#, "desiredKeys[1]: expected a string, found the number 1"),
            (
                #"{"operations":[],"desiredKeys":"a"}"#,
                "desiredKeys: expected an array of strings, found the string \"a\""
            ),
        ])
    func `a malformed records/modify is refused at its path`(body: String, message: String) {
        #expect(error(ModifyRecordsRequest.self, body)?.description == message)
    }

    @Test func `a path quotes names that are not plain`() {
        let body = #"{"operations":[{"operationType":"create","record":{"fields":{"a.b":{"value":{}}}}}]}"#
        #expect(error(ModifyRecordsRequest.self, body)?.path == #"operations[0].record.fields["a.b"].value"#)
    }

    @Test func `an error never echoes a megabyte`() throws {
        let long = String(repeating: "x", count: 1_000_000)
        for body in [
            #"{"operations":[{"operationType":"create","record":{"fields":{"\#(long)":{"value":{}}}}}]}"#,
            #"{"operations":[{"operationType":"\#(long)","record":{}}]}"#,
            #"{"operations":[{"operationType":"create","record":{"fields":{"f":{"value":1,"type":"\#(long)"}}}}]}"#,
        ] {
            let refusal = try #require(error(ModifyRecordsRequest.self, body))
            #expect(refusal.description.utf8.count < 500)
        }
    }

    @Test func `records/modify is written as it is read`() {
        let request = ModifyRecordsRequest(
            operations: [
                RecordOperation(
                    operationType: .update,
                    record: RecordToModify(
                        recordName: "A", recordType: "T", recordChangeTag: "1",
                        zoneID: ZoneIDDictionary(zoneName: "Z", ownerRecordName: "_o"),
                        fields: RecordFields([
                            .init(name: "a", field: Field(.int64(1), hasDeclaredType: false)),
                            .init(name: "b", field: Field(nil)),
                            .init(name: "c", field: Field(.string("s"), isEncrypted: true)),
                        ]),
                        parent: .set(ReferenceValue(recordName: "P"))),
                    desiredKeys: ["a"]),
                RecordOperation(operationType: .delete, record: RecordToModify(recordName: "B", parent: .clear)),
            ],
            zoneID: .defaultZone, atomic: false, desiredKeys: ["x", "y"], numbersAsStrings: true,
            wantsServerRecord: true)
        #expect(
            text(request.encoded())
                == #"{"operations":[{"operationType":"update","record":{"recordName":"A","recordType":"T","#
                + #""recordChangeTag":"1","zoneID":{"zoneName":"Z","ownerRecordName":"_o"},"#
                + #""fields":{"a":{"value":1},"b":{"value":null},"c":{"value":"s","type":"STRING","isEncrypted":true}},"#
                + #""parent":{"recordName":"P"}},"desiredKeys":["a"]},"#
                + #"{"operationType":"delete","record":{"recordName":"B","parent":null}}],"#
                + #""zoneID":{"zoneName":"_defaultZone"},"desiredKeys":["x","y"],"numbersAsStrings":true,"#
                + #""atomic":false,"nephosServerRecord":true}"#)
    }

    @Test(arguments: ["__defaultOwner__", "_defaultOwner"])
    func `a placeholder for the caller as owner means no owner`(owner: String) throws {
        let request = try LookupZonesRequest(
            decoding: bytes(#"{"zones":[{"zoneName":"Z","ownerRecordName":"\#(owner)"}]}"#))
        #expect(request.zones == [ZoneIDDictionary(zoneName: "Z")])
    }

    @Test(
        arguments: [
            #"{"records":[{"recordName":"A"},{"recordName":"B","zoneID":{"zoneName":"Z"},"desiredKeys":["x"]}],"zoneID":{"zoneName":"Y"},"desiredKeys":["a"],"numbersAsStrings":true}"#
        ])
    func `records/lookup, zones/modify and zones/lookup round-trip`(json: String) throws {
        let request = try LookupRecordsRequest(decoding: bytes(json))
        #expect(
            request
                == LookupRecordsRequest(
                    records: [
                        .init(recordName: "A"),
                        .init(recordName: "B", zoneID: ZoneIDDictionary(zoneName: "Z"), desiredKeys: ["x"]),
                    ],
                    zoneID: ZoneIDDictionary(zoneName: "Y"), desiredKeys: ["a"], numbersAsStrings: true))
        #expect(text(request.encoded()) == json)
    }

    @Test func `zones/modify wraps each zone ID in a zone`() throws {
        let json =
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Gallery"}}},"#
            + #"{"operationType":"delete","zone":{"zoneID":{"zoneName":"Old"}}}]}"#
        let request = ModifyZonesRequest(operations: [
            ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Gallery")),
            ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "Old")),
        ])
        #expect(try ModifyZonesRequest(decoding: bytes(json)) == request)
        #expect(text(request.encoded()) == json)
    }

    @Test(
        arguments: [
            (
                #"{"operations":[{"operationType":"rename","zone":{"zoneID":{"zoneName":"Z"}}}]}"#,
                "operations[0].operationType: expected one of create, delete, found the string \"rename\""
            ),
            (
                #"{"operations":[{"operationType":"create","zone":{}}]}"#,
                "operations[0].zone.zoneID: expected a zone ID, found nothing"
            ),
            (
                #"{"operations":[{"operationType":"create"}]}"#,
                "operations[0].zone: expected a dictionary with the key \"zoneID\", found nothing"
            ),
        ])
    func `a malformed zone request is refused at its path`(body: String, message: String) {
        #expect(error(ModifyZonesRequest.self, body)?.description == message)
    }
}
