import Testing

@testable import NephosStorage

/// A record's columns in one.
@Suite struct RecordContentTests {
    private static let texts = ["", " ", "0", "1 2", "Note", "é👩‍👩‍👧", String(repeating: "n", count: 255), "-", "\u{0}"]
    private static let numbers: [Int64] = [
        .min, -1_700_000_000_000, -100_000_000_000, -1, 0, 1, 9, 10, 99, 100, 12_345_678, 123_456_789, 999_999_999_999,
        1_700_000_000_000,
        9_999_999_999_999, 10_000_000_000_000, .max,
    ]

    private func record(_ random: inout SplitMix) -> RecordRow {
        func number() -> Int64 { Self.numbers.randomElement(using: &random) ?? 0 }
        func text() -> String { Self.texts.randomElement(using: &random) ?? "" }
        return RecordRow(
            zone: ZoneKey(owner: .everyone, id: 1), name: "r", type: text(), sequence: 1,
            isDeleted: .random(using: &random),
            createdAt: number(), createdBy: number(), modifiedAt: number(), modifiedBy: number(),
            parent: .random(using: &random) ? text() : nil, share: .random(using: &random) ? text() : nil,
            fields: (0..<Int.random(in: 0..<40, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    }

    /// The record again; nil where the bytes are not one.
    private func decoded(_ bytes: [UInt8], as record: RecordRow) -> RecordRow? {
        bytes.withUnsafeBytes { bytes in
            guard let content = RecordContent(bytes) else { return nil }
            func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
            return RecordRow(
                zone: record.zone, name: record.name, type: text(content.type), sequence: record.sequence,
                isDeleted: content.isDeleted, createdAt: RecordContent.number(content.createdAt) ?? 0,
                createdBy: content.createdBy, modifiedAt: RecordContent.number(content.modifiedAt) ?? 0,
                modifiedBy: content.modifiedBy, parent: content.parent.map(text), share: content.share.map(text),
                fields: Array(content.fields))
        }
    }

    @Test("A record is what its content says, and no beginning of that is a record with other metadata")
    func roundTrip() {
        let seed = UInt64.random(in: .min ... .max)
        for round in 0..<500 {
            var random = SplitMix(state: seed &+ UInt64(round))
            let record = record(&random)
            let bytes = RecordContent.encode(record)
            #expect(decoded(bytes, as: record) == record, "seed \(seed), round \(round)")
            for count in 0..<bytes.count {
                guard var cut = decoded(Array(bytes[..<count]), as: record) else { continue }
                #expect(cut.fields == Array(record.fields.prefix(cut.fields.count)), "seed \(seed), round \(round)")
                cut.fields = record.fields
                #expect(cut == record, "seed \(seed), round \(round)")
            }
        }
    }

    @Test("Any bytes are read, each part within them, or refused")
    func anyBytes() {
        let seed = UInt64.random(in: .min ... .max)
        var (read, refused) = (0, 0)
        for round in 0..<2000 {
            var random = SplitMix(state: seed &+ UInt64(round))
            var bytes = RecordContent.encode(record(&random))
            let likely = Array("0123456789 -".utf8)
            for _ in 0..<3 {
                bytes[random.below(bytes.count)] =
                    random.below(4) > 0 ? likely[random.below(likely.count)] : UInt8(random.below(256))
            }
            bytes.withUnsafeBytes { bytes in
                guard let content = RecordContent(bytes) else {
                    refused += 1
                    return
                }
                read += 1
                let parts = [content.createdAt, content.modifiedAt, content.type, content.fields]
                for part in parts + [content.parent, content.share].compactMap(\.self) {
                    guard let start = part.baseAddress, let first = bytes.baseAddress else { continue }
                    let isWithin = start >= first && start + part.count <= first + bytes.count
                    #expect(isWithin, "seed \(seed), round \(round)")
                }
                let end = content.fields.baseAddress.map { $0 + content.fields.count }
                #expect(end == bytes.baseAddress.map { $0 + bytes.count }, "seed \(seed), round \(round)")
                for time in [content.createdAt, content.modifiedAt] {
                    #expect(RecordContent.number(time) != nil, "seed \(seed), round \(round)")
                }
            }
        }
        #expect(read > 100 && refused > 100)
    }

    @Test(
        "What is no content is refused",
        arguments: [
            "", "0", "0 1 2 3 4 1 0 0", "0 1 2 3 4 1 0 0 ", "0  0 5 0 1 0 0 T{}", "0 x 0 5 0 1 0 0 T{}",
            "0 1700000000000x 0 5 0 1 0 0 T{}", "0 17000x0000000 0 5 0 1 0 0 T{}",
            "0 x700000000000 0 5 0 1 0 0 T{}", "0 170000000000x 0 5 0 1 0 0 T{}", "0 1 0 - 0 1 0 0 T{}",
            "0 1 0 5 0 -1 0 0 T{}", "0 1 0 5 0 1 9 0 T{}", "0 1 0 5 0 1 0 -9223372036854775808 T{}",
            "0 100000000000000000000 0 5 0 1 0 0 T{}", "x 1 0 5 0 1 0 0 T{}",
        ])
    func refused(_ text: String) {
        Array(text.utf8).withUnsafeBytes { #expect(RecordContent($0) == nil) }
    }
}
