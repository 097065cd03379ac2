import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// The form of encrypted values, byte by byte, as in Documentation/Encryption.md, and an independent reader of it
/// (`sealed_values.py`, over PyNaCl).
@Suite struct SealedFormatTests {
    private static let place = ZonePlace(
        account: KeyPlace(
            container: "iCloud.org.example.App", environment: "development",
            owner: "_0123456789abcdef0123456789abcdef"),
        zoneName: "Notes")
    private static let key = RecordKey(id: Array(1...8), key: .counting(from: 0))
    private static let context = place.valueContext(recordName: "note-1")

    @Test func `the library produces the page's test vector`() throws {
        let sealed = try #require(
            Self.key.seal(.string("Grüße"), field: "title", of: Self.context, nonce: Array(0x40..<0x58)))
        let parts = [
            "01", "0102030405060708", "404142434445464748494a4b4c4d4e4f5051525354555657",
            "23b60436790a9b6c661f092abdee2925b33acc4317793b5aff5a536a8f608193",
            "89812d39a7adce", "b46b3709671b385d4c2dd85ab07911f7",
        ]
        #expect(sealed.bytes.hex == parts.joined())
        #expect(sealed.type == .string)
        #expect(Self.key.open(sealed, field: "title", of: Self.context) == .string("Grüße"))
    }

    /// Every type, and the bytes that stand for its value.
    private static let contents: [(FieldValue, String)] = [
        (.string("Grüße"), "4772c3bcc39f65"), (.string(""), ""), (.bytes([0, 255]), "00ff"),
        (.int64(-2), "fffffffffffffffe"), (.double(1.5), "3ff8000000000000"),
        (.timestamp(Timestamp(Date(timeIntervalSinceReferenceDate: 1.5))), "3ff8000000000000"),
        (.location(LocationValue(latitude: 1, longitude: -1)), "003ff0000000000000bff0000000000000"),
        (
            .location(LocationValue(latitude: 1, longitude: -1, altitude: 1.5)),
            "043ff0000000000000bff00000000000003ff8000000000000"
        ),
        (.list(of: .string, [.string("a"), .string("")]), "000000016100000000"),
        (.list(of: .int64, [.int64(1)]), "000000080000000000000001"), (.list(of: .unknown, []), ""),
    ]

    @Test func `the size of a sealed value is known before it is sealed`() throws {
        for (value, _) in Self.contents {
            let sealed = try #require(Self.key.seal(value, field: "title", of: Self.context))
            #expect(RecordKey.sealedSize(of: value) == sealed.bytes.count)
        }
    }

    @Test func `a sync engine's batch fits a request once it is sealed`() async throws {
        let pending = (0..<40).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(CKRecord.ID(recordName: "\($0)")) }
        let batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            let record = CKRecord(recordType: "Note", recordID: recordID)
            for number in 0..<500 { record.encryptedValues["f\(number)"] = "" }
            return record
        }
        let records = try #require(batch).recordsToSave
        let sizes = records.map { $0.fieldsToSend(.changed).entries.map { $0.name.utf8.count + 81 }.reduce(0, +) }
        #expect(records.count > 1 && records.count < 40 && sizes.reduce(0, +) <= 2_000_000)
    }

    @Test func `each type's encoding decodes to the value`() {
        for (value, hex) in Self.contents {
            #expect(SealedContent.bytes(of: value)?.hex == hex)
            #expect(SealedContent.value([UInt8](hex: hex)[...], type: value.type) == value)
        }
    }

    @Test func `the library produces the page's test vector of an asset's key`() throws {
        let assetKey = SealKey.counting(from: 0x20)
        let wrapped = Self.key.wrap(assetKey, field: "image", of: Self.context, nonce: Array(0x40..<0x58))
        let parts = [
            "01", "0102030405060708", "404142434445464748494a4b4c4d4e4f5051525354555657",
            "716204a3e0a35d60df01a2fd7f30168a72265c1a9d1d8372ea2a188157d42d5f",
            "2d8e55f56c41d5b848d0a97715245802415197acaad3605ff0ee071d53a61887", "e148d8010d2233d4bceb48762a035f85",
        ]
        #expect(wrapped.hex == parts.joined())
        #expect(Self.key.unwrap(wrapped, field: "image", of: Self.context) == assetKey)
        #expect(Self.key.unwrap(wrapped, field: "other", of: Self.context) == nil)
    }

    @Test(arguments: [0, 7, 65_536, 140_000])
    func `a Python reader opens a file that the library sealed`(size: Int) async throws {
        let files = try TestFiles()
        let content = pattern(size)
        let assetKey = SealKey.random()
        let pieces = AssetContent(file: try files.file(content), size: Int64(size), key: assetKey).sealed
        var sealed: [UInt8] = []
        while let piece = try await pieces?.next() { sealed += piece }
        var question: [String: Any] = ["do": "openFile", "key": Self.key.key.bytes.hex, "type": "ASSETID"]
        question["wrapped"] = Self.key.wrap(assetKey, field: "title", of: Self.context).hex
        question["sealed"] = sealed.hex
        let reader = try PythonReader()
        #expect(try reader.ask(question)["content"] == [UInt8](content).hex)
        question["sealed"] = sealed.dropLast(17).hex
        #expect(try reader.ask(question)["error"] != nil)
    }

    @Test func `a value without an encoding is not sealed`() {
        for value in [
            FieldValue.reference(ReferenceValue(recordName: "a")),
            .list(
                of: .reference,
                [
                    .reference(ReferenceValue(recordName: "a"))
                ]),
        ] {
            #expect(Self.key.seal(value, field: "f", of: Self.context) == nil)
        }
    }

    @Test(arguments: [
        ("ff", FieldType.string), ("00", .int64), ("7ff0000000000000", .double), ("", .location), ("40", .location),
        ("003ff0000000000000bff00000000000", .location), ("0000000161000000", .list(.string)),
        ("00000002", .list(.string)), ("61", .reference), ("00", .unknownList),
    ])
    func `bytes that encode no value of the type are refused`(hex: String, type: FieldType) {
        #expect(SealedContent.value([UInt8](hex: hex)[...], type: type) == nil)
    }

    @Test func `a Python reader opens the library's sealed values, and the library opens Python's`() throws {
        let reader = try PythonReader()
        let group = RecordKey.random().key
        let wrapped = Self.key.wrapped(under: group, version: 3, recordName: "note-1", in: GroupPlace(zone: Self.place))
        let unwrapped = try reader.ask([
            "do": "unwrap", "key": group.bytes.hex, "version": 3, "id": wrapped.id.hex, "wrapped": wrapped.wrapped.hex,
        ])
        #expect(unwrapped["content"] == Self.key.key.bytes.hex)
        for (value, hex) in Self.contents {
            let sealed = try #require(Self.key.seal(value, field: "title", of: Self.context))
            var question: [String: Any] = ["key": Self.key.key.bytes.hex, "type": value.type.wireName]
            question["do"] = "open"
            question["sealed"] = sealed.bytes.hex
            #expect(try reader.ask(question)["content"] == hex)
            question["type"] = "BYTES_LIST"
            #expect(try reader.ask(question)["error"] != nil, "another type")

            question["do"] = "seal"
            question["type"] = value.type.wireName
            question["id"] = Self.key.id.hex
            question["content"] = hex
            question["nonce"] = [UInt8](repeating: 5, count: 24).hex
            let theirs = SealedFieldValue(
                type: value.type, bytes: [UInt8](hex: try #require(try reader.ask(question)["sealed"])))
            #expect(Self.key.open(theirs, field: "title", of: Self.context) == value)
            #expect(Self.key.open(theirs, field: "other", of: Self.context) == nil)
        }
    }
}

/// `sealed_values.py` in a process of its own.
final class PythonReader {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init() throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        let script = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("sealed_values.py")
        process.arguments = ["-B", script.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// - Parameters:
    ///   - question: without the place, which is that of the vector.
    ///   - share: the share whose keys it is about; empty is the zone.
    func ask(_ question: [String: Any], share: String = "") throws -> [String: String] {
        var question = question
        question["place"] = [
            "container": "iCloud.org.example.App", "environment": "development",
            "owner": "_0123456789abcdef0123456789abcdef", "zone": "Notes", "record": "note-1", "field": "title",
            "type": question["type"] ?? "STRING", "share": share,
        ]
        try input.fileHandleForWriting.write(
            contentsOf: JSONSerialization.data(withJSONObject: question) + Data("\n".utf8))
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        return try JSONDecoder().decode([String: String].self, from: line)
    }
}

extension SealKey {
    /// 32 bytes, one after another.
    static func counting(from first: UInt8) -> SealKey {
        SealKey((0..<32).map { first + $0 }) ?? .random()
    }
}

extension Collection<UInt8> {
    var hex: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension [UInt8] {
    init(hex: String) {
        var bytes: [UInt8] = []
        var rest = hex[...]
        while rest.count >= 2 {
            bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        self = bytes
    }
}
