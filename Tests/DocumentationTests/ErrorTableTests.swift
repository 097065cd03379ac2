import CloudKit
import CloudKitLocal
import Foundation
import Testing

/// Documentation/Errors.md has the messages of the service and the library, word for word.
@Suite struct ErrorTableTests {
    /// With this variable set the test writes the page instead of comparing it.
    private static let writes = ProcessInfo.processInfo.environment["WRITE_ERRORS_PAGE"] != nil
    private static let page = "Documentation/Errors.md"
    private static let begin = "<!-- errors: written by ErrorTableTests -->"
    private static let end = "<!-- /errors -->"

    @Test func `the page of errors has the actual messages`() async throws {
        var lines: [String] = []
        for chapter in ErrorSituation.chapters {
            lines += ["", "## \(chapter.title)", "", "| what was done | error | its description |", "|---|---|---|"]
            for situation in chapter.situations { lines.append(try await situation.row()) }
        }
        lines.append("")
        let page = try Checkout.lines(of: Self.page)
        let begin = try #require(page.firstIndex(of: Self.begin))
        let end = try #require(page.firstIndex(of: Self.end))
        if Self.writes {
            let text = page[...begin] + lines + page[end...]
            try Checkout.write(text.joined(separator: "\n"), to: Self.page)
            return
        }
        let written = Array(page[(begin + 1)..<end])
        for (written, said) in zip(written, lines) where written != said {
            Issue.record("\(Self.page) says\n\(written)\nand the code\n\(said)")
        }
        #expect(
            written.count == lines.count,
            "WRITE_ERRORS_PAGE=1 scripts/run-tests --filter ErrorTableTests writes \(Self.page)")
    }

    @Test func `the table has at least forty situations, and no duplicate error`() {
        let situations = ErrorSituation.chapters.flatMap { $0.situations }
        #expect(situations.count >= 40)
        #expect(Set(situations.map { $0.title }).count == situations.count)
    }
}

/// A refused request, and its preparation.
struct ErrorSituation: Sendable {
    let title: String
    let provoke: @Sendable () async throws -> Void

    init(_ title: String, _ provoke: @escaping @Sendable () async throws -> Void) {
        self.title = title
        self.provoke = provoke
    }

    /// The line of the table.
    func row() async throws -> String {
        do {
            try await provoke()
            Issue.record("Nothing was refused: \(title)")
            return "| \(title) | | |"
        } catch let error as CKError {
            return "| \(title) | `\(error.code)` | \(Self.cell(error.localizedDescription)) |"
        } catch let error as LocalCloudError {
            return "| \(title) | `LocalCloudError` | \(Self.cell(error.description)) |"
        }
    }

    private static func cell(_ text: String) -> String {
        text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "\n", with: "<br>")
            .replacingOccurrences(of: "<br>", with: " ")
    }
}
