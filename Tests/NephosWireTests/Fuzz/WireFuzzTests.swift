import NephosTesting
import NephosWire
import Testing

/// Damaged bodies: every decoder returns or throws.
struct FuzzTests {
    /// Runs every decoder; a trap or a hang fails the run. Returns how many accepted the body.
    @discardableResult
    private func decodeEverything(_ body: [UInt8]) -> Int {
        var accepted = 0
        func attempt(_ decode: () throws -> Void) {
            do {
                try decode()
                accepted += 1
            } catch {
                #expect(error is WireError)
            }
        }
        attempt { _ = try ModifyRecordsRequest(decoding: body).encoded() }
        attempt { _ = try LookupRecordsRequest(decoding: body).encoded() }
        attempt { _ = try ModifyZonesRequest(decoding: body).encoded() }
        attempt { _ = try LookupZonesRequest(decoding: body).encoded() }
        attempt { _ = try RecordsResponse(decoding: body).encoded() }
        attempt { _ = try ZonesResponse(decoding: body).encoded() }
        attempt { _ = try ErrorDictionary(decoding: body).encoded() }
        attempt { _ = try UserDictionary(decoding: body).encoded() }
        attempt { _ = try RecordZoneChangesResponse(decoding: body).encoded() }
        attempt { _ = try PackedRecords(bytes: JSONBytes(body)).results() }
        body.withUnsafeBytes { bytes in
            var tokens = FieldScanner(bytes)
            while tokens.nextToken() != nil {}
        }
        edit(EncodedFields(bytes: body))
        return accepted
    }

    private func edit(_ fields: EncodedFields) {
        let changes = RecordFields([.init(name: "b", field: Field(.int64(1))), .init(name: "c", field: Field(nil))])
        #expect(!fields.merging(changes).bytes.isEmpty)
        #expect(!fields.selecting(["a", "title"]).bytes.isEmpty)
        #expect(!fields.withNumbersAsStrings().bytes.isEmpty)
        _ = fields.references()
        _ = try? fields.decoded().encoded()
    }

    private func mutate(_ body: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var body = body
        for _ in 0...random.below(3) where !body.isEmpty {
            let position = random.below(body.count)
            switch random.below(5) {
            case 0: body[position] = UInt8(truncatingIfNeeded: random.next())
            case 1: body[position] = random.pick(Array(#"{}[]",:\0-.eutfn"#.utf8))
            case 2: body.remove(at: position)
            case 3: body.insert(random.pick(Array(#"{}[]",:\0-.e"#.utf8)), at: position)
            default: body.insert(contentsOf: body[position..<min(body.count, position + 8)], at: position)
            }
        }
        return body
    }

    @Test func `mutated and truncated bodies never trap`() {
        let seed = freshSeed()
        print("FuzzTests.mutations seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            for body in [
                random.modifyRequest().encoded(), random.recordsResponse().encoded(), random.fields().encoded().bytes,
                [random.packedRecords().0.bytes].joined(), random.packedAnswer().encoded(),
            ] {
                for _ in 0..<4 { decodeEverything(mutate(body, using: &random)) }
                decodeEverything(Array(body.prefix(random.below(body.count + 1))))
            }
        }
    }

    @Test func `every truncation of a body is refused`() {
        let body = bytes(
            #"{"operations":[{"operationType":"create","record":{"recordName":"é","fields":{"a":{"value":[1.5e3,-2]},"b":{"value":"\ud83d\ude00\n","type":"STRING"}}}}]}"#
        )
        #expect(throws: Never.self) { try ModifyRecordsRequest(decoding: body) }
        for length in 1..<body.count {
            #expect(throws: WireError.self) { try ModifyRecordsRequest(decoding: Array(body.prefix(length))) }
        }
    }

    @Test func `random bytes never trap`() {
        let seed = freshSeed()
        print("FuzzTests.randomBytes seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            decodeEverything((0..<random.below(200)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            let alphabet = Array(#"{}[]",:\0123-.eutfnrlsa "#.utf8)
            decodeEverything((0..<random.below(60)).map { _ in random.pick(alphabet) })
        }
    }
}
