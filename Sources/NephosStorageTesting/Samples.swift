import NephosStorage

/// An error that a write of the suite throws on purpose.
struct Refusal: Error, Hashable {}

/// A text that is compared by its bytes. Swift compares strings by canonical equivalence, but stores compare them by
/// their bytes.
struct Bytes: Hashable, CustomStringConvertible {
    let bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    var description: String { "\"\(String(decoding: bytes, as: UTF8.self))\"" }
}

extension Sequence<String> {
    var asBytes: [Bytes] { map { Bytes($0) } }

    /// Returns the texts in the order of their bytes.
    func sortedByBytes() -> [String] {
        sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

/// Names that a comparison by anything except their bytes confuses or orders differently.
let trickyTexts = [
    "a", "A", "b", "B", "Z", "aa", "a b", "a.b", "a_b", "a%b", "1", "10", "2", "02", "é", "e\u{301}", "ß", "ss", "İ",
    "i",
    "ı", "漢字", "👩‍👩‍👧", "\u{1F600}", "\u{FFFD}", "\u{10FFFF}", " ", "'", "\"", "\\", "\n", "\t", "--", "null", "NULL",
    "0x1", "1e5", "1.0", "*", "?", "$1", ":a", "@a", ";", String(repeating: "n", count: 255),
]

extension Sequence {
    /// Maps the elements one after another, not concurrently.
    func asyncMap<T>(_ body: (Element) async throws -> T) async throws -> [T] {
        var values: [T] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

extension RecordRow {
    /// A record with a distinct value in every column.
    static func sample(
        _ zone: ZoneKey, _ name: String, sequence: Int64, type: String = "Note", isDeleted: Bool = false,
        parent: String? = nil, share: String? = nil, fields: String = "{}"
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: type, sequence: sequence, isDeleted: isDeleted, createdAt: 1_700_000_000_001,
            createdBy: 7, modifiedAt: 1_700_000_000_002, modifiedBy: 8, parent: parent, share: share,
            fields: Array(fields.utf8))
    }
}

extension StorageEngine {
    /// Adds a zone and returns its key.
    func makeZone(_ name: String = "Zone", owner: OwnerID = .everyone) async throws -> ZoneKey {
        try await write { try $0.insertZone(owner: owner, name: name, sequence: $0.nextSequence()).key }
    }

    /// Writes a record under the next change sequence, and returns that sequence.
    @discardableResult
    func save(_ zone: ZoneKey, _ name: String, fields: String = "{}", isDeleted: Bool = false) async throws -> Int64 {
        try await write { transaction in
            let sequence = try transaction.nextSequence()
            try transaction.put(.sample(zone, name, sequence: sequence, isDeleted: isDeleted, fields: fields))
            return sequence
        }
    }

    func record(_ zone: ZoneKey, _ name: String) async throws -> RecordRow? {
        try await read { try $0.record(zone: zone, named: name) }
    }

    func allRecords(_ zone: ZoneKey) async throws -> [RecordRow] {
        try await read { try $0.records(zone: zone, after: 0, limit: .max) }
    }

    func delete(_ zone: ZoneKey) async throws {
        try await write { try $0.markZoneDeleted(zone, sequence: $0.nextSequence(), at: 1, reason: 0) }
    }
}
