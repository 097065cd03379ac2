import Foundation
import Testing

@testable import NephosWire

@Suite struct AnswerAdditionsTests {
    private func removed(_ json: String) -> String {
        String(decoding: AnswerAdditions.removed(from: Array(json.utf8)), as: UTF8.self)
    }

    @Test(arguments: [
        (#"{"nephosErrorCode":11}"#, "{}"),
        (#"{"a":1,"nephosErrorCode":11}"#, #"{"a":1}"#),
        (#"{"nephosErrorCode":11,"a":1}"#, #"{"a":1}"#),
        (#"{"a":1,"nephosHasKeys":true,"nephosShare":"x,\"}]","b":2}"#, #"{"a":1,"b":2}"#),
        (#"{"nephosA":1,"nephosB":[1,null,"]"],"nephosC":"","z":[{"nephosD":-1.5e3}]}"#, #"{"z":[{}]}"#),
        (#"[{"nephosA":1},{"nephosA":1}]"#, "[{},{}]"),
    ])
    func `additions are removed at every depth`(json: String, expected: String) {
        #expect(removed(json) == expected)
    }

    @Test(arguments: [
        #"{"fields":{"nephosSize":{"value":1,"type":"INT64"}}}"#,
        #"{"value":"{\"nephosErrorCode\":11}"}"#, #"{"value":",\"nephosErrorCode\":11"}"#,
        #"{"value":["nephosErrorCode","nephosShare"],"nephos":1,"nephosity":2}"#,
        #"{"value":"\\","a":"nephosErrorCode"}"#, "{}", "",
    ])
    func `an app's stored keys stay, whatever their names`(json: String) {
        #expect(removed(json) == json)
    }

    @Test(arguments: 0..<300)
    func `an addition is found wherever it begins`(offset: Int) {
        let value = String(repeating: "\\\"n", count: offset / 3) + String(repeating: "n", count: offset % 3)
        #expect(removed("{\"a\":\"\(value)\",\"nephosA\":1,\"b\":2}") == "{\"a\":\"\(value)\",\"b\":2}")
    }

    @Test func `parts without additions are passed on unchanged`() {
        let parts = [JSONBytes(#"{"a":"#), JSONBytes("1}")]
        let same = AnswerAdditions.removed(from: parts)
        #expect(same.count == 2 && same[0] === parts[0] && same[1] === parts[1])
        let cut = AnswerAdditions.removed(from: [JSONBytes(#"{"nephosA":"#), JSONBytes(#"1,"b":2}"#)])
        #expect(String(decoding: cut.joined(), as: UTF8.self) == #"{"b":2}"#)
    }
}
