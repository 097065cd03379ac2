import NephosWire
import Testing

@testable import NephosService

/// The lines of an account's export.
@Suite struct AccountExportTests {
    private let cloud = TestCloud()

    private func make(_ account: String, _ container: String) async throws {
        let make = ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [make]), cloud.context(account, container: container))
    }

    private func modify(_ account: String, _ container: String, _ operations: [RecordOperation]) async throws {
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: operations, zoneID: ZoneIDDictionary(zoneName: "Z")),
            cloud.context(account, container: container))
        #expect(saved.records.allSatisfy { !$0.isFailure })
    }

    /// The files of an export, in order. Their pieces follow each other, and are as many bytes as was said before.
    private func files(_ account: String, _ cloud: TestCloud? = nil) async throws -> [(path: String, bytes: [UInt8])] {
        let export = try await (cloud ?? self.cloud).service.export(of: account) { true }
        var files: [(path: String, bytes: [UInt8])] = []
        var left: Int64 = 0
        while let piece = try await export.next() {
            if piece.offset == 0 {
                #expect(left == 0)
                files.append((piece.path, []))
                left = piece.size
            }
            #expect(files.last?.path == piece.path && Int64(files.last?.bytes.count ?? -1) == piece.offset)
            files[files.count - 1].bytes += piece.bytes
            left -= Int64(piece.bytes.count)
        }
        #expect(left == 0)
        #expect(Set(files.map(\.path)).count == files.count)
        return files
    }

    /// The lines of each file of a kind.
    private func pieces(
        _ account: String, _ kind: String = "records", _ cloud: TestCloud? = nil
    ) async throws -> [[Substring]] {
        try await files(account, cloud).filter { $0.path.contains("/\(kind)-") }.map {
            String(decoding: $0.bytes, as: UTF8.self).split(separator: "\n")
        }
    }

    @Test func `an export has the records of each container once, in pieces, and nothing of another account`()
        async throws
    {
        for container in ["iCloud.b", "iCloud.a"] {
            for account in ["mei", "tom"] {
                try await make(account, container)
                for start in 0..<3 {
                    try await modify(
                        account, container,
                        (0..<200).map { .create("\(account)\(start)-\($0)", ["text": .string(container)]) })
                }
                try await modify(account, container, [.delete("\(account)0-0")])
            }
        }
        let pieces = try await pieces("mei")
        let lines = pieces.flatMap(\.self)
        let headers = lines.filter { $0.contains("nephosExport") }
        #expect(headers.count == 2 && headers[0].contains("iCloud.a") && headers[1].contains("iCloud.b"))
        for container in ["iCloud.a", "iCloud.b"] {
            #expect(lines.count { $0.contains("\"value\":\"\(container)\"") } == 599)
        }
        #expect(!lines.contains { $0.contains("tom") || $0.contains("mei0-0\"") })
        #expect(pieces.allSatisfy { $0.count <= Limits.exportedRecords + 1 } && pieces.count > 6)
    }

    @Test func `an export is an import's input`() async throws {
        try await make("mei", "iCloud.a")
        try await modify("mei", "iCloud.a", [.create("root", ["text": .string("a\u{7}\u{202E}b")])])
        try await modify("mei", "iCloud.a", [.create("child", ["n": .int64(1)], parent: "root")])
        let lines = try await pieces("mei").flatMap(\.self).dropFirst(2)
        #expect(lines.count == 2)
        for line in lines {
            let request = try ModifyRecordsRequest(decoding: Array(line.utf8))
            let saved = try await cloud.service.modifyRecords(request, cloud.context("mei", container: "iCloud.a"))
            #expect(saved.records.allSatisfy { !$0.isFailure }, "\(saved)")
        }
        #expect(try await pieces("mei").flatMap(\.self).dropFirst(2) == lines)
    }

    @Test func `an export ends where its account is deleted, and with its session`() async throws {
        try await make("mei", "iCloud.a")
        for start in 0..<3 { try await modify("mei", "iCloud.a", (0..<200).map { .create("r\(start)-\($0)") }) }
        let export = try await cloud.service.export(of: "mei") { true }
        for _ in 0..<2 { #expect(try await export.next() != nil) }
        _ = try await cloud.service.deleteAccount(
            DeleteAccountRequest(account: "mei"), cloud.context(container: "iCloud.a"))
        #expect(try await export.next() == nil)
        let other = try await cloud.service.export(of: "tom") { false }
        await #expect(throws: ServiceError.sessionIsOver) { try await other.next() }
    }

    @Test func `an account has one export at a time, and another account its own`() async throws {
        var first: AccountExport? = try await cloud.service.export(of: "mei") { true }
        await #expect(throws: ServiceError.self) { _ = try await cloud.service.export(of: "mei") { true } }
        _ = try await cloud.service.export(of: "tom") { true }
        _ = try await first?.next()
        first = nil
        _ = try await cloud.service.export(of: "mei") { true }
    }
}
