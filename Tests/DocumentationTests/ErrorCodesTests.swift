import Testing

@testable import CloudKit

/// Documentation/ErrorCodes.md has a section for each code, which `nephos explain` prints.
@Suite struct ErrorCodesTests {
    private static let page = "Documentation/ErrorCodes.md"

    @Test func `each code has a section with its number, causes, remedy and a line that provokes it`() throws {
        let sections = try Checkout.lines(of: Self.page).split { $0.hasPrefix("## ") }.dropFirst()
        let names = try Checkout.lines(of: Self.page).filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
        let codes = (1...100).compactMap(CKError.Code.init(rawValue:))
        #expect(names.map(String.init) == codes.map { "\($0)" })
        for (code, section) in zip(codes, sections) {
            let text = section.joined(separator: "\n")
            #expect(text.drop { $0.isNewline }.prefix { $0.isNumber } == String(code.rawValue), "\(code)")
            for item in ["- Causes: ", "- Remedy: ", "- Provoke: `"] {
                #expect(text.contains(item), "\(code): \(item)")
            }
            let number = InternalError(code, reason: nil).code
            let head = text.prefix { $0 != "." }
            #expect(number == code.rawValue || head.contains("`\(number)`"), "\(code): \(number)")
        }
    }
}
