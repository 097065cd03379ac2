import NephosWire
import Testing

/// Malformed JSON is refused with a position and a reason.
struct JSONDocumentTests {
    @Test(
        arguments: [
            ("{", "not valid JSON: expected a key in double quotes, found the end at byte 1"),
            ("[1,]", "[1]: not valid JSON: expected a value, found ']' at byte 3"),
            (#"{"zones" 1}"#, "zones: not valid JSON: expected ':', found '1' at byte 9"),
            (
                #"{"zones":[{"zoneName":tru}]}"#,
                "zones[0].zoneName: not valid JSON: expected a value, found 't' at byte 22"
            ),
            (#"{"zones":[01]}"#, "zones[0]: not valid JSON: a malformed number at byte 10"),
            (#"{"zones":[1e999]}"#, "zones[0]: a number too large for DOUBLE"),
            (#"{"a":"b"#, "a: not valid JSON: a string that does not end at byte 5"),
            ("{\"a\":\"b\nc\"}", "a: not valid JSON: a control character in a string must be escaped at byte 7"),
            (#"{"a":"\ud800"}"#, "a: not valid JSON: a malformed escape in a string at byte 6"),
            (#"{"a":"\udc00"}"#, "a: not valid JSON: a malformed escape in a string at byte 6"),
            (#"{"a":"\ud83dx"}"#, "a: not valid JSON: a malformed escape in a string at byte 6"),
            (#"{"a":"\x"}"#, "a: not valid JSON: a malformed escape in a string at byte 6"),
            (
                #"{"a":"\u12g4"}"#,
                "a: not valid JSON: a malformed escape in a string at byte 6"
            ),
            ("{} x", "not valid JSON: expected nothing behind the document's end, found 'x' at byte 3"),
            ("operations=1", "not valid JSON: expected a value, found 'o' at byte 0"),
        ])
    func `malformed JSON is refused at its position`(body: String, message: String) {
        #expect(error(LookupZonesRequest.self, body)?.description == message)
    }

    @Test func `invalid UTF-8 is refused at its position`() throws {
        for sequence: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF5, 0x80, 0x80, 0x80]] {
            let body = Array(#"{"a":""#.utf8) + sequence + Array(#""}"#.utf8)
            let error = try #require(throws: WireError.self) { try LookupZonesRequest(decoding: body) }
            #expect(error.description == "not valid JSON: invalid UTF-8 at byte 6")
        }
    }

    @Test(arguments: [66, 1000, 1_000_000])
    func `deep nesting is refused`(depth: Int) {
        for body in [
            String(repeating: "[", count: depth), String(repeating: "{\"a\":", count: depth),
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth),
        ] {
            #expect(error(LookupZonesRequest.self, body)?.reason.contains("nested deeper than 64") == true)
        }
    }

    @Test func `nesting below the limit is skipped`() throws {
        let nested = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        #expect(try LookupZonesRequest(decoding: bytes("{\"x\":\(nested),\"zones\":[]}")).zones.isEmpty)
    }

    @Test func `NUL and every escape are decoded in a string`() throws {
        let fields = try EncodedFields(#"{"f":{"value":"\u0000\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}}"#).decoded()
        #expect(fields["f"]?.value == .string("\u{0}\"\\/\u{8}\u{C}\n\r\té😀"))
    }

    @Test(arguments: ["", " \n"])
    func `an empty body is an empty object`(body: String) {
        #expect(error(LookupZonesRequest.self, body)?.description == "zones: expected an array, found nothing")
        #expect(error(LookupZonesRequest.self, body) == error(LookupZonesRequest.self, "{}"))
    }

    @Test(
        arguments: [
            ("[]", "expected an object, found an array"), ("null", "expected an object, found null"),
            ("5", "expected an object, found the number 5"), ("true", "expected an object, found true"),
        ])
    func `a body that is not an object is refused`(body: String, message: String) {
        #expect(error(ModifyRecordsRequest.self, body)?.description == message)
    }

    @Test func `documents of every size are parsed, also while another is being parsed`() throws {
        for size in [1, 100, 5_000, 300_000, 3, 600_000] {
            let title = String(repeating: "x", count: size)
            let request = ModifyRecordsRequest(operations: [
                RecordOperation(
                    operationType: .create,
                    record: RecordToModify(
                        fields: RecordFields([
                            .init(name: "title", field: Field(.string(title)))
                        ])))
            ])
            #expect(try ModifyRecordsRequest(decoding: request.encoded()) == request)
        }
        let values = try JSONDocument.parse(bytes(#"{"a":1}"#)) { (_) throws(WireError) in
            try EncodedFields(#"{"f":{"value":1}}"#).decoded()
        }
        #expect(values["f"]?.value == .int64(1))
    }
}
