import Testing

@testable import NephosService

@Suite struct FaultTextTests {
    @Test(arguments: [
        "save networkFailure", "any zone=Notes database=shared every serviceUnavailable retry=2.5",
        "save type=Note record=a zone=Notes database=private account=mei device=phone nth=3 when=after level=item "
            + "quotaExceeded",
        "changes first=2 when=amid networkFailure", "fetch probability=0.25 level=request unknownItem",
    ])
    func `a fault's text makes the same fault`(text: String) throws {
        let rule = try FaultRule(text: text)
        #expect(rule.description == text)
        #expect(try FaultRule(text: rule.description) == rule)
    }

    @Test func `any fault's text makes the same fault, whatever its values are`() throws {
        let parts = [
            "a", "Notes", " ", "\t", "\n", "\r\n", "\"", "\\", "\\n", "=", "zone=", "\u{301}", "\u{a0}", "\u{2028}",
            "é", "'", "\u{7}", "\u{202e}", "\\u{7}", "\\u",
            "save", "networkFailure", "",
        ]
        var random = SplitMix(state: UInt64.random(in: 0...(.max)))
        func value() -> String? {
            if Bool.random(using: &random) { return nil }
            return (0..<Int.random(in: 0...4, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
                .joined()
        }
        for _ in 0..<5000 {
            var rule = FaultRule(
                FaultOperation.allCases.randomElement(using: &random) ?? .any,
                FaultCode.allCases.randomElement(using: &random) ?? .internalError)
            rule.address.recordType = value()
            rule.address.recordName = value()
            rule.address.zoneName = value()
            rule.address.account = value()
            rule.address.device = value()
            rule.address.database = [nil, .public, .private, .shared].randomElement(using: &random) ?? nil
            rule.occurrence =
                [.nth(1), .nth(7), .first(2), .every, .probability(.random(in: 0.1...1, using: &random))]
                .randomElement(using: &random) ?? .every
            rule.stage = FaultRule.Stage.allCases.randomElement(using: &random) ?? .before
            rule.isOfItems = [nil, true, false].randomElement(using: &random) ?? nil
            rule.retryAfter = Bool.random(using: &random) ? nil : .random(in: 0...10, using: &random)
            if rule.problem != nil { continue }
            let text = rule.description
            #expect(!text.contains { $0.isNewline || $0 == "\t" || $0 == "\u{7}" || $0 == "\u{202e}" }, "\(text)")
            #expect(try FaultRule(text: text) == rule, "\(text)")
        }
    }

    @Test func `a shell's arguments need no quotation marks of their own`() throws {
        let rule = try FaultRule(text: #"save zone="My \"notes\"" record="" networkFailure"#)
        #expect(rule.address.zoneName == #"My "notes""# && rule.address.recordName == "")
        func read(_ arguments: [String]) throws -> FaultRule {
            try FaultRule(text: FaultWords.text(ofArguments: arguments))
        }
        #expect(try read(["save", #"zone=My "notes""#, #"record="""#, "networkFailure"]) == rule)
        #expect(try read(["save", #"zone="My \"notes\"""#, #"record="""#, "networkFailure"]) == rule)
        #expect(try read([rule.description]) == rule)
        #expect(try read(["save", "record=\u{301} x", "networkFailure"]).address.recordName == "\u{301} x")
        #expect(try read(["save zone=A", "networkFailure"]) == FaultRule(text: "save zone=A networkFailure"))
    }

    @Test func `the words stand in any order`() throws {
        #expect(
            try FaultRule(text: "  quotaExceeded   zone=Notes save ")
                == FaultRule(text: "save zone=Notes quotaExceeded"))
    }

    @Test(arguments: [
        ("", "a fault has one operation: any, save"), ("save", "one error code"), ("networkFailure", "one operation"),
        ("save delete networkFailure", "one operation"), ("save networkFailure zoneBusy", "one error code"),
        ("save networkFailur", "'networkFailur' is no part of a fault"), ("save zone= zoneBusy", "'zone=' is no part"),
        ("save colour=red zoneBusy", "'colour=red'"), ("save nth=0 zoneBusy", "count from 1"),
        ("save nth=x zoneBusy", "nth= of a fault is a number from 1"), ("save probability=2 zoneBusy", "at most 1"),
        ("save database=mine zoneBusy", "public, private or shared"), ("save retry=-1 zoneBusy", "number of seconds"),
        ("save nth=2 first=3 zoneBusy", "a fault has one of first, nth"),
        ("save every probability=0.5 zoneBusy", "a fault has one of every, probability"),
        (#"save zone="A zoneBusy"#, "a quotation mark too many"), ("save zone=\"A\\", "a quotation mark too many"),
        ("save zone=A zone=B zoneBusy", "a fault has one zone"), ("save nth=1 nth=2 zoneBusy", "a fault has one nth"),
        ("delete serverRecordChanged", "only a save has a conflict"),
        ("fetch serverRecordChanged", "only a save has a conflict"),
        ("save level=request serverRecordChanged", "a conflict is a record's"),
        ("save when=after serverRecordChanged", "a conflict is found before a commit"),
        ("fetch type=Note zoneBusy", "names no record type"), ("query record=a zoneBusy", "names no record"),
        ("account zone=A networkFailure", "account names no zone"), ("assets zone=A zoneBusy", "assets names no zone"),
    ])
    func `a wrong text is refused with what may stand there`(text: String, reason: String) {
        let error = #expect(throws: ServiceError.self) { try FaultRule(text: text) }
        #expect(error?.clientCode == .invalidArguments)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: ["\\u{D800}", "\\u{110000}", "\\u{g}", "\\u{}", "\\u{+9}", "\\u{9"])
    func `the number of no character is refused`(_ value: String) {
        let error = #expect(throws: ServiceError.self) {
            try FaultRule(text: "save record=\"\(value)\" networkFailure")
        }
        #expect(error?.reason.contains("number of no character") == true)
    }
}
