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
        ("save zone=A zone=B zoneBusy", "a fault has one zone"), ("save nth=1 nth=2 zoneBusy", "a fault has one nth"),
        ("delete serverRecordChanged", "only a save has a conflict"),
        ("fetch serverRecordChanged", "only a save has a conflict"),
        ("save level=request serverRecordChanged", "a conflict is a record's"),
        ("save when=after serverRecordChanged", "a conflict is found before a commit"),
        ("fetch type=Note zoneBusy", "names no record type"), ("query record=a zoneBusy", "names no record"),
    ])
    func `a wrong text is refused with what may stand there`(text: String, reason: String) {
        let error = #expect(throws: ServiceError.self) { try FaultRule(text: text) }
        #expect(error?.clientCode == .invalidArguments)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }
}
