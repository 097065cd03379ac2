import Foundation
import Testing

@testable import NephosServer

/// `Documentation/WireProtocol.md` lists every route.
@Suite struct DocumentedRoutesTests {
    @Test func `every route is in the table of endpoints, with its methods`() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("Documentation/WireProtocol.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        for route in Routes.table {
            let path = route.path.replacing("/nephos/", with: "")
            let methods = route.methods.map(\.rawValue).joined(separator: ", ")
            let isListed = rows.contains { row in
                let columns = row.split(separator: "|", maxSplits: 2)
                return columns.count == 3 && columns[1].trimmingCharacters(in: .whitespaces) == methods
                    && (columns[0].contains("`\(path)`") || columns[0].contains("`\(path)/"))
            }
            #expect(isListed, "\(methods) \(route.path)")
        }
    }
}
