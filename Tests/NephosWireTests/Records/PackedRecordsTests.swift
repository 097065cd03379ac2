import NephosTesting
import NephosWire
import Testing

/// Packed records have the content of record dictionaries.
struct PackedRecordsTests {
    private func forEachSeed(_ body: (inout SeededGenerator, Comment) throws -> Void) throws {
        let seed = freshSeed()
        for round in 0..<UInt64(200) {
            var random = SeededGenerator(seed: seed &+ round)
            try body(&random, "seed \(seed &+ round)")
        }
    }

    @Test func `records survive packing`() throws {
        try forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let (packed, records) = random.packedRecords()
            #expect(try packed.results() == records, seed)
        }
    }

    @Test func `packed records have the bytes of the protocol's page`() throws {
        let texts = ["Note", "_a", "r", "1", "{}", "d"].map(JSONBytes.init)
        let (type, user, name, tag, fields, gone) = (texts[0], texts[1], texts[2], texts[3], texts[4], texts[5])
        var writer = PackedRecordsWriter(reserving: 64)
        writer.record(
            RecordDictionaryView(
                recordName: name.buffer, recordType: type.buffer, recordChangeTag: tag.buffer, fields: fields.buffer,
                created: (1000, user.buffer), modified: (1000, user.buffer)))
        writer.deleted(name: gone.buffer, type: type.buffer)
        let bytes: [UInt8] = [
            0x01, 0x04, 0x4E, 0x6F, 0x74, 0x65, 0x01, 0x02, 0x5F, 0x61, 0x03, 0x04, 0x01, 0x72, 0x00, 0x01, 0x31, 0xE8,
            0x03, 0, 0, 0, 0, 0, 0, 0x01, 0x02, 0x7B, 0x7D, 0x02, 0x01, 0x64, 0x00,
        ]
        withExtendedLifetime(texts) {}
        #expect([writer.finish().bytes].joined() == bytes)
    }

    @Test func `no prefix of packed records decodes as more than it is`() throws {
        try forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let (packed, records) = random.packedRecords()
            let bytes = [packed.bytes].joined()
            for _ in 0..<8 {
                let prefix = Array(bytes.prefix(random.below(bytes.count + 1)))
                guard let results = try? PackedRecords(bytes: JSONBytes(prefix)).results() else { continue }
                #expect(results == Array(records.prefix(results.count)), seed)
            }
        }
    }

    @Test func `an answer with packed records survives the wire`() throws {
        try forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let answer = random.packedAnswer()
            #expect(try RecordZoneChangesResponse(decoding: answer.encoded()) == answer, seed)
            let newline: [UInt8] = answer.mediaType.hasPrefix("application/json") ? [UInt8(ascii: "\n")] : []
            #expect(answer.encodedInParts().joined() == answer.encoded() + newline, seed)
        }
    }

    @Test func `an answer without its packed records is refused`() throws {
        var random = SeededGenerator(seed: 7)
        let (packed, _) = random.packedRecords(count: 3)
        var changes = RecordZoneChanges(zoneID: .defaultZone, records: [], syncToken: "t", moreComing: false)
        changes.packedRecords = packed
        let body = RecordZoneChangesResponse(zones: [.changes(changes)]).encoded()
        #expect(throws: Never.self) { try RecordZoneChangesResponse(decoding: body) }
        for length in 0..<body.count {
            let prefix = Array(body.prefix(length))
            // An empty body counts as {}, which has no zones.
            #expect(throws: WireError.self) { try RecordZoneChangesResponse(decoding: prefix) }
        }
    }

    @Test func `an item that is neither text nor a record is refused`() {
        for bytes: [UInt8] in [
            [0], [4], [3], [2, 1, 0x61, 0], [1, 2, 0x61], [1, 1, 0xFF], [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [3, 4, 1, 0x61, 0],
        ] {
            #expect(throws: WireError.self, "\(bytes)") { try PackedRecords(bytes: JSONBytes(bytes)).results() }
        }
    }

    @Test func `text is read if and only if it is UTF-8`() throws {
        try forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            var bytes = Array(random.string(upTo: 20).utf8)
            if !bytes.isEmpty, random.chance(2) { bytes[random.below(bytes.count)] ^= 0x80 }
            let text = bytes.withUnsafeBytes { String(utf8: $0) }
            #expect(text == String(validating: bytes, as: UTF8.self), seed)
        }
    }

    /// The values that `FieldScanner` found; nil where it left them to the decoder.
    private func tokens(_ fields: EncodedFields) -> RecordFields? {
        fields.bytes.withUnsafeBytes { bytes -> RecordFields? in
            var tokens = FieldScanner(bytes)
            var entries: [RecordFields.Entry] = []
            while let token = tokens.nextToken() {
                let value: FieldValue
                switch token.value {
                case .string(let text): value = .string(String(decoding: text, as: UTF8.self))
                case .strings(let texts):
                    value = .list(of: .string, texts.map { .string(String(decoding: $0, as: UTF8.self)) })
                case .int64(let number): value = .int64(number)
                case .double(let number): value = .double(number)
                case .timestamp(let time): value = .timestamp(time)
                case .bytes(let text): value = .bytes(FieldScanner.decodedBase64(text) ?? [])
                case .sealed(let type, let text):
                    value = .sealed(
                        SealedFieldValue(type: type, bytes: FieldScanner.decodedBase64(text) ?? []))
                case .reference(let name, let action):
                    value = .reference(
                        ReferenceValue(recordName: String(decoding: name, as: UTF8.self), action: action))
                }
                let name = String(decoding: token.name, as: UTF8.self)
                entries.append(.init(name: name, field: Field(value, isEncrypted: token.isEncrypted)))
            }
            return tokens.isForeign ? nil : RecordFields(entries)
        }
    }

    @Test func `fields read in place equal decoded fields`() throws {
        var read = 0
        try forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields(upTo: 3)
            guard let found = tokens(fields.encoded()) else { return }
            read += 1
            #expect(found == fields, seed)
        }
        #expect(read > 20)
    }

    @Test(arguments: [
        #"{}"#, #"{"a":{"value":"text","type":"STRING"}}"#, #"{"a":{"value":"","type":"STRING","isEncrypted":true}}"#,
        #"{"a":{"value":-9223372036854775808,"type":"INT64"},"b":{"value":-0.0,"type":"DOUBLE"}}"#,
        #"{"a":{"value":1,"type":"TIMESTAMP","nephosSeconds":-978307199.9987654},"b":{"value":7,"type":"TIMESTAMP"}}"#,
        #"{"a":{"value":["x","é",""],"type":"STRING_LIST"},"b":{"value":"AAEC","type":"BYTES"}}"#,
        #"{"a":{"value":"AAEC","type":"ENCRYPTED_STRING"},"b":{"value":"","type":"ENCRYPTED_LOCATION_LIST"}}"#,
        #"{"a":{"value":{"recordName":"r","action":"DELETE_SELF"},"type":"REFERENCE"}}"#,
        #"{"a":{"value":{"recordName":"r","action":"NONE"},"type":"REFERENCE"},"b":{"value":1e300,"type":"DOUBLE"}}"#,
    ])
    func `the most frequent field forms are read without decoding`(json: String) throws {
        let fields = EncodedFields(json)
        #expect(try tokens(fields) == fields.decoded())
    }

    @Test(arguments: [
        #"{"a":{"value":"te\nxt","type":"STRING"}}"#, #"{"a":{"value":1.5,"type":"INT64"}}"#, #"{"a" :{}}"#,
        #"{"a":{"value":{"recordName":"r","zoneID":{"zoneName":"z"},"action":"NONE"},"type":"REFERENCE"}}"#,
        #"{"a":{"value":[],"type":"STRING_LIST"}}"#, #"{"a":{"value":1,"type":"INT64"}"#, #"["#, "", "{", "null",
        #"{"a":{"value":1,"type":"INT64"}} "#, #"{"a":{"value":1e999,"type":"DOUBLE"}}"#,
        #"{"a":{"value":["x",1],"type":"STRING_LIST"}}"#, #"{"a":{"value":01,"type":"INT64"}}"#,
    ])
    func `other field forms use the decoder`(json: String) {
        #expect(tokens(EncodedFields(json)) == nil)
    }
}

extension PackedRecords {
    /// Everything in them, as the dictionaries that say the same.
    func results() throws(WireError) -> [RecordResult] {
        var reader = PackedRecordsReader(self)
        var results: [RecordResult] = []
        while let entry = try reader.next() {
            switch entry {
            case .unreadable(let name, let reason):
                results.append(
                    .failure(
                        ErrorDictionary(
                            uuid: "", serverErrorCode: .internalError, reason: reader.texts[reason],
                            recordName: try reader.string(name))))
            case .deleted(let name, let type):
                results.append(
                    .deleted(DeletedRecord(recordName: try reader.string(name), recordType: reader.texts[type])))
            case .record(let record):
                let stamps = [record.created, record.modified].map {
                    TimestampDictionary(timestamp: $0.time, userRecordName: reader.texts[$0.user])
                }
                let references = try [record.parent, record.share].map { (name) throws(WireError) in
                    try name.map { (name) throws(WireError) in ReferenceValue(recordName: try reader.string(name)) }
                }
                results.append(
                    .record(
                        RecordDictionary(
                            recordName: try reader.string(record.name), recordType: reader.texts[record.type],
                            recordChangeTag: try reader.string(record.changeTag),
                            fields: EncodedFields(bytes: Array(record.fields)), created: stamps[0],
                            modified: stamps[1], parent: references[0], share: references[1])))
            }
        }
        return results
    }
}

extension SeededGenerator {
    /// Records, packed, and what they are.
    mutating func packedRecords(count: Int? = nil) -> (PackedRecords, [RecordResult]) {
        var writer = PackedRecordsWriter(reserving: 64)
        var results: [RecordResult] = []
        for _ in 0..<(count ?? below(40)) {
            if chance(4) {
                let deleted = DeletedRecord(recordName: string(), recordType: string(upTo: 2))
                withTexts([deleted.recordName, deleted.recordType ?? ""]) { writer.deleted(name: $0[0], type: $0[1]) }
                results.append(.deleted(deleted))
                continue
            }
            var record = record()
            record.zoneID = nil
            let created = TimestampDictionary(timestamp: int64(), userRecordName: string(upTo: 1))
            record.created = created
            let modified =
                chance(2) ? created : TimestampDictionary(timestamp: int64(), userRecordName: string(upTo: 1))
            record.modified = modified
            record.share = optional { ReferenceValue(recordName: $0.string(upTo: 200)) }
            let texts = [
                record.recordName, record.recordType, record.recordChangeTag, created.userRecordName,
                modified.userRecordName, String(decoding: record.fields.bytes, as: UTF8.self),
                record.parent?.recordName ?? "", record.share?.recordName ?? "",
            ]
            withTexts(texts) { texts in
                writer.record(
                    RecordDictionaryView(
                        recordName: texts[0], recordType: texts[1], recordChangeTag: texts[2], fields: texts[5],
                        created: (created.timestamp, texts[3]), modified: (modified.timestamp, texts[4]),
                        parent: record.parent == nil ? nil : texts[6], share: record.share == nil ? nil : texts[7]))
            }
            results.append(.record(record))
        }
        return (writer.finish(), results)
    }

    mutating func packedAnswer() -> RecordZoneChangesResponse {
        RecordZoneChangesResponse(
            zones: (0..<below(4)).map { _ in
                if chance(4) { return .failure(error()) }
                var changes = RecordZoneChanges(
                    zoneID: zoneID(), records: [], syncToken: string(), moreComing: chance(2),
                    clientChangeToken: optional { $0.string() }, fetchEnd: optional { $0.string() })
                if chance(3) {
                    changes.records = recordsResponse().records
                } else {
                    changes.packedRecords = packedRecords().0
                }
                return .changes(changes)
            })
    }

    /// Calls `body` with the texts' UTF-8.
    private func withTexts(_ texts: [String], _ body: ([UnsafeRawBufferPointer]) -> Void) {
        let bytes = texts.map(JSONBytes.init)
        withExtendedLifetime(bytes) { body(bytes.map(\.buffer)) }
    }
}
