import NephosTesting
import NephosWire
import Testing

/// Invariants of every record, on random ones.
struct PropertyTests {
    private static let rounds = 200

    private static func forEachSeed(_ body: (inout SeededGenerator, Comment) throws -> Void) throws {
        let seed = freshSeed()
        for round in 0..<UInt64(rounds) {
            var random = SeededGenerator(seed: seed &+ round)
            try body(&random, "seed \(seed &+ round)")
        }
    }

    @Test func `fields survive storage`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields()
            let encoded = fields.encoded()
            let decoded = try encoded.decoded()
            #expect(decoded == fields, seed)
            #expect(decoded.encoded() == encoded, seed)
        }
    }

    @Test func `merging equals decoding, changing and encoding`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields()
            let changes = random.fields(clearing: true)
            var expected = fields
            for entry in changes.entries { expected[entry.name] = entry.field.value == nil ? nil : entry.field }
            #expect(fields.encoded().merging(changes) == expected.encoded(), seed)
        }
    }

    @Test func `selecting equals decoding, filtering and encoding`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields()
            var keys = random.fields().entries.map(\.name)
            keys += fields.entries.filter { _ in random.chance(2) }.map(\.name)
            keys.shuffle(using: &random)
            var expected = RecordFields()
            for entry in fields.entries where keys.contains(where: { Array($0.utf8) == Array(entry.name.utf8) }) {
                expected[entry.name] = entry.field
            }
            #expect(fields.encoded().selecting(keys) == expected.encoded(), seed)
        }
    }

    @Test func `references found in bytes are those of the fields`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields()
            #expect(fields.encoded().references().map(\.reference) == fields.references().map(\.reference), seed)
        }
    }

    @Test func `numbers as strings decode to the same fields`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let fields = random.fields()
            #expect(try fields.encoded().withNumbersAsStrings().decoded() == fields, seed)
        }
    }

    @Test func `requests survive the wire`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let modify = random.modifyRequest()
            #expect(try ModifyRecordsRequest(decoding: modify.encoded()) == modify, seed)
            let lookup = LookupRecordsRequest(
                records: (0..<random.below(4)).map { _ in
                    LookupRecordsRequest.Item(
                        recordName: random.string(), zoneID: random.optional { $0.zoneID() },
                        desiredKeys: random.optional { [$0.string()] })
                },
                zoneID: random.optional { $0.zoneID() }, desiredKeys: random.optional { [$0.string(), $0.string()] },
                numbersAsStrings: random.chance(2))
            #expect(try LookupRecordsRequest(decoding: lookup.encoded()) == lookup, seed)
            let zones = LookupZonesRequest(zones: (0..<random.below(4)).map { _ in random.zoneID() })
            #expect(try LookupZonesRequest(decoding: zones.encoded()) == zones, seed)
            let zoneChanges = ModifyZonesRequest(
                operations: (0..<random.below(4)).map { _ in
                    ZoneOperation(operationType: random.pick([.create, .delete]), zoneID: random.zoneID())
                })
            #expect(try ModifyZonesRequest(decoding: zoneChanges.encoded()) == zoneChanges, seed)
        }
    }

    @Test func `answers survive the wire`() throws {
        try Self.forEachSeed { (random: inout SeededGenerator, seed: Comment) throws in
            let records = random.recordsResponse()
            #expect(try RecordsResponse(decoding: records.encoded()) == records, seed)
            let zones = ZonesResponse(
                zones: (0..<random.below(4)).map { _ in
                    random.chance(3)
                        ? .failure(random.error())
                        : .zone(
                            ZoneDictionary(
                                zoneID: random.zoneID(), syncToken: random.optional { $0.string() },
                                atomic: random.chance(2),
                                deleted: random.chance(2)))
                })
            #expect(try ZonesResponse(decoding: zones.encoded()) == zones, seed)
        }
    }
}

extension SeededGenerator {
    mutating func modifyRequest() -> ModifyRecordsRequest {
        ModifyRecordsRequest(
            operations: (0..<below(5)).map { _ in
                RecordOperation(
                    operationType: pick(RecordOperation.OperationType.allCases),
                    record: RecordToModify(
                        recordName: optional { $0.string() }, recordType: optional { $0.string() },
                        recordChangeTag: optional { $0.string() }, zoneID: optional { $0.zoneID() },
                        fields: fields(clearing: true),
                        parent: pick([.keep, .clear, .set(reference())])),
                    desiredKeys: optional { [$0.string()] })
            },
            zoneID: optional { $0.zoneID() }, atomic: pick([nil, true, false]),
            desiredKeys: optional { _ in [] }, numbersAsStrings: chance(2), wantsServerRecord: chance(2))
    }

    mutating func timestamp() -> TimestampDictionary {
        TimestampDictionary(timestamp: int64(), userRecordName: string(), deviceID: optional { $0.string() })
    }

    mutating func record() -> RecordDictionary {
        RecordDictionary(
            recordName: string(), recordType: string(), recordChangeTag: string(), zoneID: optional { $0.zoneID() },
            fields: fields().encoded(), created: optional { $0.timestamp() }, modified: optional { $0.timestamp() },
            parent: optional { ReferenceValue(recordName: $0.string()) },
            share: optional { ReferenceValue(recordName: $0.string(), zoneID: $0.zoneID()) })
    }

    mutating func error() -> ErrorDictionary {
        ErrorDictionary(
            uuid: string(), serverErrorCode: pick(ServerErrorCode.allCases), reason: string(),
            retryAfter: optional { $0.double() }, redirectURL: optional { $0.string() },
            recordName: optional { $0.string() }, zoneID: optional { $0.zoneID() },
            subscriptionID: optional { $0.string() }, clientErrorCode: optional { Int($0.int64()) },
            serverRecord: optional { $0.record() })
    }

    mutating func recordsResponse() -> RecordsResponse {
        RecordsResponse(
            records: (0..<below(5)).map { _ in
                switch below(3) {
                case 0: .record(record())
                case 1:
                    .deleted(
                        DeletedRecord(
                            recordName: string(), recordType: optional { $0.string() }, zoneID: optional { $0.zoneID() }
                        ))
                default: .failure(error())
                }
            })
    }
}
