import FoundationEssentials
import NephosTesting
import NephosWire

/// The seed of random tests: the same in every run, so that a change is judged by what it changes. `NEPHOS_FUZZ_SEED` gives
/// another, or `random` one. A failing test prints it.
func freshSeed() -> UInt64 {
    switch ProcessInfo.processInfo.environment["NEPHOS_FUZZ_SEED"] {
    case "random": .random(in: .min ... .max)
    case let given?: UInt64(given) ?? 1
    case nil: 1
    }
}

func bytes(_ json: String) -> [UInt8] { Array(json.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

extension EncodedFields {
    init(_ json: String) { self.init(bytes: Array(json.utf8)) }
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Decodes one field dictionary.
func field(_ json: String) throws(WireError) -> Field? {
    try EncodedFields("{\"f\":\(json)}").decoded()["f"]
}

/// What a decoder says against `json`.
func error<Message: WireMessage>(_ type: Message.Type, _ json: String) -> WireError? {
    do throws(WireError) {
        _ = try Message(decoding: bytes(json))
        return nil
    } catch {
        return error
    }
}

// MARK: - Random values

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func chance(_ outOf: Int) -> Bool { below(outOf) == 0 }

    mutating func optional<Value>(_ make: (inout SeededGenerator) -> Value) -> Value? {
        chance(2) ? make(&self) : nil
    }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    /// Letters, quotes, escapes, control characters, NUL, combining marks, emoji.
    mutating func string(upTo length: Int = 24) -> String {
        let pieces: [String] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\u{0}", "\u{1}", "\u{8}", "\t", "\n", "\u{C}", "\r", "\u{1F}",
            "\u{7F}",
            "é", "e\u{301}", "日", "😀", "\u{2028}", "\u{FFFD}", "\u{10FFFF}", "{", "}", "[", "]", ":", ",",
            "\"REFERENCE", "plain text of some length",
        ]
        return (0..<below(length + 1)).map { _ in pick(pieces) }.joined()
    }

    mutating func double() -> Double {
        switch below(4) {
        case 0:
            let special: [Double] = [
                0, -0.0, 1, -1, 0.1, 1.0 / 3, 1e20, 1e21, 1e22, -1e19, 1.2345678901234568e20, .leastNonzeroMagnitude,
                .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 0x1p53, 0x1p63, 0x1p64,
            ]
            return pick(special)
        case 1: return Double(Int.random(in: -1000...1000, using: &self)) / 8
        default:
            let value = Double(bitPattern: next())
            return value.isFinite ? value : 2.5
        }
    }

    mutating func int64() -> Int64 {
        let special: [Int64] = [.min, .min + 1, .max, .max - 1, 0, -1, 1 << 53, 9_007_199_254_740_993]
        return chance(3) ? pick(special) : Int64(bitPattern: next()) >> Int64(below(64))
    }

    mutating func zoneID() -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: string(upTo: 4), ownerRecordName: optional { $0.string(upTo: 4) })
    }

    mutating func reference() -> ReferenceValue {
        ReferenceValue(
            recordName: string(upTo: 4), zoneID: optional { $0.zoneID() },
            action: pick([.none, .deleteSelf, .validate]))
    }

    mutating func location() -> LocationValue {
        LocationValue(
            latitude: double().truncatingRemainder(dividingBy: 90),
            longitude: double().truncatingRemainder(dividingBy: 180),
            horizontalAccuracy: optional { $0.double() },
            verticalAccuracy: optional { $0.double() }, altitude: optional { $0.double() },
            speed: optional { $0.double() }, course: optional { $0.double() }, timestamp: optional { $0.moment() })
    }

    mutating func asset() -> AssetValue {
        AssetValue(
            fileChecksum: string(upTo: 4), size: int64(), receipt: optional { $0.string(upTo: 4) },
            wrappingKey: optional { $0.string(upTo: 4) }, referenceChecksum: optional { $0.string(upTo: 4) },
            downloadURL: optional { $0.string(upTo: 4) })
    }

    /// Within 60,000 years of 1970: further away a `Date` has not every millisecond.
    mutating func moment() -> Timestamp {
        below(2) == 0
            ? Timestamp(milliseconds: int64() % 1_900_000_000_000_000)
            : Timestamp(Date(timeIntervalSinceReferenceDate: double().truncatingRemainder(dividingBy: 1.9e12)))
    }

    mutating func value(_ scalar: FieldType.Scalar) -> FieldValue {
        switch scalar {
        case .string, .unknown: .string(string())
        case .int64: .int64(int64())
        case .double: .double(double())
        case .bytes: .bytes((0..<below(20)).map { _ in UInt8(truncatingIfNeeded: next()) })
        case .timestamp: .timestamp(moment())
        case .location: .location(location())
        case .reference: .reference(reference())
        case .asset: .asset(asset())
        }
    }

    mutating func value() -> FieldValue {
        let scalar = pick(FieldType.Scalar.allCases)
        guard scalar != .unknown else { return .list(of: .unknown, []) }
        guard chance(3) else { return value(scalar) }
        return .list(of: scalar, (0..<below(4)).map { _ in value(scalar) })
    }

    mutating func fields(upTo count: Int = 8, clearing: Bool = false) -> RecordFields {
        RecordFields(
            (0..<below(count + 1)).map { _ in
                let name = chance(4) ? string(upTo: 3) : pick(["a", "b", "title", "year", "size", "é", "z\"", "z\\"])
                let isCleared = clearing && chance(3)
                return RecordFields.Entry(
                    name: name, field: Field(isCleared ? nil : value(), isEncrypted: chance(5)))
            })
    }
}
