import NephosStorage

extension StorageConformance {
    /// The checks with values of the maximum length that the service allows. PostgreSQL allows at most 2,704 bytes per
    /// row of an index, after compression.
    static let longest: [StorageCheck] = [
        .engine("The longest names have room wherever they are, and so have the longest index entries") { engine in
            let name = text(255, from: "!"..."~")
            // The longest zone name: each character has up to four bytes in UTF-8.
            let zone = try await engine.makeZone(text(255, from: "\u{20000}"..."\u{2A6D0}"))
            let target = text(255, from: "!"..."~")
            // The longest index value: 8 strings (`Limits.fieldsPerIndex`), each with a tag and a terminator.
            let value = (0..<8 * (1 + 256 + 2)).map { _ in UInt8.random(in: .min ... .max) }
            try await engine.write { transaction in
                try transaction.insert(IndexEntryRow(zone: zone, definition: 1, value: value, name: name))
                try transaction.insert(ReferenceRow(zone: zone, target: target, kind: .deleteSelf, source: name))
                _ = try transaction.insertAccount(
                    name: text(255, from: "\u{20000}"..."\u{2A6D0}"), userRecordName: text(255, from: "!"..."~"))
            }
            try await engine.save(zone, name)
            let range = IndexRange(zone: zone, definition: 1, from: [], to: [255, 255, 255])
            let found = try await engine.read { try $0.indexEntries(range, after: nil, limit: 2) }
            try expect(found.map(\.value), equals: [value])
            try expect(found.map(\.name), equals: [name])
            let references = try await engine.read { try $0.references(zone: zone, from: name) }
            try expect(references.map(\.target), equals: [target])
            try expect(try await engine.record(zone, name)?.name, equals: name)
        }
    ]

    /// A random text, which cannot be compressed.
    private static func text(_ count: Int, from range: ClosedRange<Unicode.Scalar>) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<count {
            scalars.append(Unicode.Scalar(UInt32.random(in: range.lowerBound.value...range.upperBound.value)) ?? "x")
        }
        return String(scalars)
    }
}
