import Foundation
import Testing

/// Links between the pages: to a file of the checkout, and to a heading of it.
@Suite struct LinkTests {
    @Test(arguments: try Checkout.pages())
    func `every link of a page has a target`(page: String) throws {
        for link in Link.all(in: try Checkout.lines(of: page)) where !link.target.contains("://") {
            let path = link.target.isEmpty ? page : Checkout.path(link.target, from: page)
            guard Checkout.exists(path) else {
                Issue.record("\(page):\(link.line): there is no \(path)")
                continue
            }
            guard let anchor = link.anchor else { continue }
            let headings = try Checkout.lines(of: path).filter { $0.hasPrefix("#") }.map(Link.anchor(ofHeading:))
            #expect(headings.contains(anchor), "\(page):\(link.line): \(path) has no heading #\(anchor)")
        }
    }

    @Test func `links are found with their anchors, named as GitHub names headings`() {
        let links = Link.all(in: ["[a](A.md) and [b](../B.md#one-two), `[c](d)`", "```", "[e](f)", "```", "[g](#h)"])
        #expect(links.map(\.target) == ["A.md", "../B.md", ""])
        #expect(links.map(\.anchor) == [nil, "one-two", "h"])
        #expect(links.map(\.line) == [1, 1, 5])
        #expect(
            Link.anchor(ofHeading: "## Moving from Apple's service, `nephos dev`")
                == "moving-from-apples-service-nephos-dev")
    }
}

/// A link in a page.
struct Link {
    let line: Int
    /// A path relative to the page, or an address; empty for the page itself.
    let target: String
    let anchor: String?

    static func all(in lines: [String]) -> [Link] {
        var links: [Link] = []
        var isCode = false
        for (index, line) in lines.enumerated() {
            if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") { isCode.toggle() }
            if isCode { continue }
            // Every second part is code.
            let text = line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .map { $0.offset % 2 == 0 ? String($0.element) : "" }.joined()
            for part in text.components(separatedBy: "](").dropFirst() {
                guard let end = part.firstIndex(of: ")") else { continue }
                let link = part[..<end].split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                links.append(
                    Link(line: index + 1, target: String(link[0]), anchor: link.count > 1 ? String(link[1]) : nil))
            }
        }
        return links
    }

    /// What GitHub calls a heading: small letters and hyphens.
    static func anchor(ofHeading heading: String) -> String {
        let text = heading.drop { $0 == "#" || $0 == " " }.lowercased()
        return String(
            text.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                .map { $0 == " " ? "-" : $0 })
    }
}
