import Foundation
import Testing

/// Every Swift block of a page is code of a source that is compiled here or in `Examples`, so that all code of the pages
/// builds. Most of it is run by the tests beside this file.
@Suite struct DocumentedCodeTests {
    @Test(arguments: try Checkout.pages())
    func `every Swift block of a page is in a compiled source`(page: String) throws {
        let sources = try Checkout.sources()
        for block in try CodeBlock.swift(inPage: page) where !sources.contains(where: { $0.contains(block.code) }) {
            Issue.record("\(page):\(block.line): no source of Tests/DocumentationTests or Examples has this block.")
        }
    }

    @Test(arguments: try Checkout.pages())
    func `a block under a file's name is the whole file`(page: String) throws {
        for block in try CodeBlock.swift(inPage: page) {
            if let file = block.file {
                guard Checkout.exists(file) else {
                    Issue.record("\(page):\(block.line): there is no \(file)")
                    continue
                }
                let lines = try Checkout.lines(of: file)
                #expect(block.lines + [""] == lines, "\(page):\(block.line): \(file) is another")
            } else if let name = block.announced {
                Issue.record("\(page):\(block.line): which file is '\(name)'? Put <!-- file: PATH --> above the block.")
            }
        }
    }

    @Test func `a block's kind follows from the comment or the words above it`() {
        let page = [
            "Here `A/b.swift`, which", "is short:", "", "<!-- file: X/A/b.swift -->", "<!-- example -->", "```swift",
            "  a", "```", "and `c.swift`:", "", "```swift", "b", "```", "", "Other `words` of it:", "```swift", "c",
            "```",
        ]
        let blocks = CodeBlock.swift(inLines: page)
        #expect(blocks.map(\.file) == ["X/A/b.swift", nil, nil])
        #expect(blocks.map(\.announced) == ["A/b.swift", "c.swift", nil])
        #expect(blocks.map(\.lines) == [["  a"], ["b"], ["c"]])
    }

    @Test func `a page whose code differs from the sources is found`() {
        let source = CodeBlock.normalised(["func f() {", "    let one = 1", "", "    use(one)", "}"])
        #expect(source.contains(CodeBlock.normalised(["let one = 1", "", "use(one)"])))
        #expect(!source.contains(CodeBlock.normalised(["let one = 2"])))
        #expect(!source.contains(CodeBlock.normalised(["let one"])))
        let page = ["text", "```swift", "a", "```", "```text", "b", "```", "  ```swift", "  c", "  ```"]
        let blocks = CodeBlock.swift(inLines: page)
        #expect(blocks.map(\.code) == ["\na\n", "\nc\n"])
        #expect(blocks.map(\.line) == [2, 8])
    }
}

/// A fenced block of a page.
struct CodeBlock {
    /// The number of the line with the fence, from 1.
    let line: Int
    /// As they stand on the page.
    let lines: [String]
    /// The file that a comment above the block says that it shows.
    let file: String?
    /// The file that the words above it name.
    let announced: String?
    /// The block's lines without what surrounds them; one before and after each of them, to be searched for whole lines.
    let code: String

    /// - Parameter above: the lines before the fence.
    private init(line: Int, lines: [String], above: ArraySlice<String>) {
        self.line = line
        self.lines = lines
        code = Self.normalised(lines)
        let comments = above.reversed().prefix { $0.hasPrefix("<!--") }
        let words = above.dropLast(comments.count).reversed().drop { $0.isEmpty }.prefix { !$0.isEmpty }
        file = comments.compactMap { $0.wholeMatch(of: /<!-- file: (\S+) -->/).map { String($0.1) } }.first
        announced = words.compactMap { $0.firstMatch(of: /`([^` ]+\.swift)`/).map { String($0.1) } }.first
    }

    static func swift(inPage page: String) throws -> [CodeBlock] {
        swift(inLines: try Checkout.lines(of: page))
    }

    static func swift(inLines lines: [String]) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var open: (line: Int, isSwift: Bool, code: [String])?
        for (index, line) in lines.enumerated() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("```") {
                if let block = open {
                    if block.isSwift {
                        blocks.append(
                            CodeBlock(line: block.line, lines: block.code, above: lines[..<(block.line - 1)]))
                    }
                    open = nil
                } else {
                    open = (index + 1, text == "```swift", [])
                }
            } else {
                open?.code.append(line)
            }
        }
        return blocks
    }

    /// Lines without their indentation.
    static func normalised(_ lines: [String]) -> String {
        "\n" + lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n") + "\n"
    }
}

/// The files of this package.
enum Checkout {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func lines(of path: String) throws -> [String] {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    static func write(_ text: String, to path: String) throws {
        try text.write(to: root.appendingPathComponent(path), atomically: true, encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path)
    }

    /// The path of what a page calls `target`.
    static func path(_ target: String, from page: String) -> String {
        var parts = page.split(separator: "/").dropLast()
        for part in target.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The pages and DocC's articles.
    static func pages() throws -> [String] {
        let pages = try files(below: "Documentation") + files(below: "Sources")
        return ["README.md", "CONTRIBUTING.md"] + pages.filter { $0.hasSuffix(".md") }.sorted()
    }

    /// What is compiled with the pages' code in it.
    static func sources() throws -> [String] {
        let files =
            try files(below: "Tests/DocumentationTests") + files(below: "Examples")
            + ["Tests/NephosPostgresTests/LocalCloudPostgresTests.swift"]
        return try files.filter { $0.hasSuffix(".swift") }.map { CodeBlock.normalised(try lines(of: $0)) }
    }

    private static func files(below path: String) throws -> [String] {
        let directory = root.appendingPathComponent(path)
        return try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            .filter { !$0.hasPrefix(".build/") && !$0.contains("/.build/") }.map { "\(path)/\($0)" }
    }
}
