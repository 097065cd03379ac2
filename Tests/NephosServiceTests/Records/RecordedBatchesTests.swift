import NephosSQLite
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// The recorded decisions on 10,000 seeded batches: a change of the rules, or of their order, changes a digest.
@Suite struct RecordedBatchesTests {
    private static let recorded: [UInt64] = [
        0x92d5_fdc1_ed50_c9d0, 0xad80_1815_4567_2b67, 0x1751_a1c7_79e2_a2cc, 0xff31_cbeb_a2e5_cc40,
        0x6cdb_4786_61bc_dcaf,
        0xca49_3296_459d_0ece, 0x17d9_bec1_6885_af89, 0xa61a_dd0d_e577_8b64, 0xa7a6_74f5_126a_8f06,
        0xeacd_ef91_b901_de9c,
    ]
    private static let batches = 1000

    @Test(arguments: 1...recorded.count)
    func `the decisions on seeded batches are the recorded ones`(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var digest = Digest()
        for start in stride(from: 0, to: Self.batches, by: 50) {
            let run = try await Run()
            for _ in start..<start + 50 { digest.add(try await run.batch(&random)) }
        }
        #expect(digest.value == Self.recorded[seed - 1], "seed \(seed)")
    }

    /// FNV-1a.
    private struct Digest {
        private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ text: String) {
            for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
    }

    /// A list that alice shares with bob, her default zone, and the public database.
    private struct Run {
        private let cloud = TestCloud(ServiceConfiguration(), stores: MemoryStores())
        private let databases: [(RequestContext, ZoneIDDictionary?)]
        private static let names = (0..<8).map { "n\($0)" } + ["root", "share", "other"]

        init() async throws {
            let (own, zone, _) = try await cloud.makeSharedList()
            databases = [
                (own.context, own.zoneID), (own.context, nil), (cloud.context("bob", .shared), zone),
                (cloud.context("alice", .public), nil), (cloud.context("bob", .public), nil),
            ]
        }

        /// Sends a random batch.
        /// - Returns: its text, and the decision on each operation.
        func batch(_ random: inout SeededGenerator) async throws -> String {
            let (context, zone) = databases[[0, 0, 0, 0, 1, 2, 3, 4].randomElement(using: &random) ?? 0]
            var left = Self.names.shuffled(using: &random)
            let operations = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in
                left.popLast().map { operation(on: $0, &random) }
            }
            let request = ModifyRecordsRequest(
                operations: operations, zoneID: zone,
                atomic: [nil, false, false, false].randomElement(using: &random) ?? nil,
                wantsServerRecord: true)
            let text = String(decoding: request.encoded(), as: UTF8.self)
            do {
                let results = try await cloud.service.modifyRecords(request, context).records
                // The default zone's cascades run in the background.
                await cloud.service.settle()
                return text + results.map(decision).joined(separator: ";")
            } catch {
                return text + "\(error.code) \(error.reason)"
            }
        }

        private func decision(_ result: RecordResult) -> String {
            result.summary + (result.error.map { " " + $0.reason } ?? "")
                + " \(result.record?.parent?.recordName ?? "-")"
        }

        private func operation(on name: String, _ random: inout SeededGenerator) -> RecordOperation {
            func other() -> ReferenceValue {
                ReferenceValue(
                    recordName: Self.names.randomElement(using: &random) ?? "",
                    action: [.none, .deleteSelf, .deleteSelf, .validate].randomElement(using: &random) ?? .none)
            }
            var record = RecordToModify(recordName: name)
            record.recordType = name == "root" ? "List" : name == "share" ? "cloudkit.share" : "Note"
            let isKept = ["root", "share"].contains(name) && Int.random(in: 0..<8, using: &random) != 0
            let types: [RecordOperation.OperationType] = [
                .create, .forceUpdate, .forceUpdate, .forceUpdate, .forceUpdate, .forceReplace, .delete, .forceDelete,
            ]
            let type = isKept ? .forceUpdate : types.randomElement(using: &random) ?? .create
            if ![.delete, .forceDelete].contains(type) {
                if Bool.random(using: &random) {
                    record.fields = RecordFields([.init(name: "link", field: Field(.reference(other())))])
                }
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1: record.parent = .set(ReferenceValue(recordName: other().recordName))
                case 2: record.parent = .clear
                default: break
                }
                if Int.random(in: 0..<12, using: &random) == 0 {
                    record.recordType = "cloudkit.share"
                    record.share = ShareToModify()
                    record.share?.forRecord = .init(recordName: other().recordName)
                }
            }
            return RecordOperation(operationType: type, record: record)
        }
    }
}
