import FoundationEssentials
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

@Suite("Bytes are in the order of the values they encode")
struct OrderedBytesTests {
    /// Negative, zero or positive.
    private func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func date(_ seconds: Double) -> Timestamp {
        Timestamp(Date(timeIntervalSinceReferenceDate: seconds))
    }

    private static let edges: [FieldValue] = {
        let integers: [Int64] = [
            .min, .min + 1, -1 << 53 - 1, -1, 0, 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 2, .max - 1, .max,
        ]
        let doubles = [
            -Double.greatestFiniteMagnitude, -0x1p63, -1.5, -0.0, 0.0, .leastNonzeroMagnitude, 0.5, 0x1p53, 0x1p53 + 2,
            0x1p63, 1e300, -.infinity, .infinity,
        ]
        let dates = [Int64.min, -1, 0, 1, .max].map(Timestamp.init(milliseconds:)) + [-0.0, 0, 1e-5, 1e15].map(date)
        return integers.map(FieldValue.int64) + doubles.map(FieldValue.double)
            + dates.map(FieldValue.timestamp)
            + ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b", "é", "e\u{301}", "漢", "\u{10FFFF}"].map(
                FieldValue.string)
    }()

    @Test func `edge values have the order of sorted results`() {
        for left in Self.edges {
            for right in Self.edges { expectOrder(left, right, "edges") }
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random values have the order of sorted results`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func value() -> FieldValue {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: .int64(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
            case 1:
                .double(
                    random.chance(50)
                        ? Double(Int.random(in: -9...9, using: &random)) / 2
                        : {
                            let value = Double(bitPattern: random.next())
                            return value.isNaN ? 0 : value
                        }())
            case 2:
                .timestamp(
                    random.chance(50)
                        ? Timestamp(milliseconds: Int64(bitPattern: random.next()))
                        : Self.date(Double.random(in: -1...1, using: &random)))
            case 3: .double(Double(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)))
            default:
                .string(
                    String(
                        String.UnicodeScalarView(
                            (0..<Int.random(in: 0...3, using: &random)).map { _ in
                                random.pick(["\0", "a", "b", "\u{1}", "é", "\u{FFFF}"] as [Unicode.Scalar])
                            })))
            }
        }
        for _ in 0..<6000 { expectOrder(value(), value(), "seed \(seed)") }
    }

    /// Compares with the order of sorted results, and equality with that of conditions.
    private func expectOrder(_ left: FieldValue, _ right: FieldValue, _ label: String) {
        let (leftBytes, rightBytes) = (OrderedBytes.order(left), OrderedBytes.order(right))
        let expected = SortOrder.order(left, right, by: QuerySortDescriptor(.field("x"))).signum()
        #expect(order(leftBytes, rightBytes) == expected, "\(label): \(left), \(right)")
        #expect(
            order(OrderedBytes.complement(leftBytes), OrderedBytes.complement(rightBytes)) == -expected,
            "\(label), descending: \(left), \(right)")
        let isEqual = QueryMatcher([Filter(.field("x"), .equals, right)])
            .matches(RecordValues(recordName: "r", fields: RecordFields([.init(name: "x", field: Field(left))])))
        #expect(
            (OrderedBytes.equality(left) == OrderedBytes.equality(right)) == isEqual,
            "\(label), equality: \(left), \(right)")
        // Joined with what follows, the order is the same.
        #expect(order(leftBytes + [0x01], rightBytes + [0x06]) == (expected == 0 ? -1 : expected), "\(label), joined")
    }

    @Test func `missing values come first, lists and locations count as missing, references sort by name`() {
        let missing = OrderedBytes.order(nil)
        for value in Self.edges { #expect(order(missing, OrderedBytes.order(value)) < 0) }
        #expect(OrderedBytes.order(.list(of: .int64, [.int64(1)])) == missing)
        #expect(OrderedBytes.order(.location(LocationValue(latitude: 1, longitude: 1))) == missing)
        #expect(OrderedBytes.order(.reference(ReferenceValue(recordName: "b"))) == OrderedBytes.order(.string("b")))
        for bytes in Self.edges.map({ OrderedBytes.order($0) }) + [missing] {
            #expect(order(bytes, OrderedBytes.end) < 0 && order(OrderedBytes.complement(bytes), OrderedBytes.end) < 0)
        }
    }

    @Test func `a long string is truncated, and says so`() {
        let long = String(repeating: "é", count: 500)
        #expect(OrderedBytes.order(.string(long)).count == OrderedBytes.stringLimit + 3)
        #expect(!OrderedBytes.isWhole(long) && OrderedBytes.isWhole(String(repeating: "x", count: 254)))
    }

    @Test func `a long string's bytes are bounded and ordered despite NULs, and only whole ones decide`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        func text() -> String {
            // They differ where the limit is.
            let count = Int.random(in: 120...260, using: &random)
            let rest = (0..<3).map { _ in random.pick(["\0", "a", "b", ""]) }.joined()
            return String(repeating: random.pick(["\0", "a"]), count: count) + rest
        }
        for _ in 0..<4000 {
            let (left, right) = (text(), text())
            let (leftBytes, rightBytes) = (OrderedBytes.order(.string(left)), OrderedBytes.order(.string(right)))
            #expect(leftBytes.count <= OrderedBytes.stringLimit + 3, "seed \(seed)")
            let expected = left == right ? 0 : left < right ? -1 : 1
            let found = order(leftBytes, rightBytes)
            #expect(found == expected || found == 0 && !OrderedBytes.isWhole(left), "seed \(seed)")
            // What a page's end carries is cut as the index has it.
            var whole = OrderedBytes.order(.string(left), limit: OrderedBytes.comparedLimit)[...]
            var index: [UInt8] = []
            let isCut = OrderedBytes.cutFirst(of: &whole, to: &index)
            #expect(index == leftBytes && isCut == !OrderedBytes.isWhole(left), "seed \(seed)")
            #expect(
                !OrderedBytes.holds(prefix: left) || leftBytes.count == left.utf8.reduce(3) { $0 + ($1 == 0 ? 2 : 1) })
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `a range and its complement hold the same values`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let all = Self.edges.map({ OrderedBytes.order($0) }) + [OrderedBytes.order(nil)]
        func cut() -> [UInt8] {
            let bytes = random.pick(all)
            return switch Int.random(in: 0..<4, using: &random) {
            case 0: [bytes[0]]
            case 1: OrderedBytes.successor([bytes[0]])
            case 2: OrderedBytes.successor(bytes)
            default: bytes
            }
        }
        func holds(_ range: ByteRange, _ bytes: [UInt8]) -> Bool {
            !bytes.lexicographicallyPrecedes(range.from) && bytes.lexicographicallyPrecedes(range.to)
        }
        for _ in 0..<3000 {
            let range = random.chance(10) ? ByteRange.all : ByteRange(from: cut(), to: cut())
            for bytes in all {
                let isIn = holds(range, bytes)
                #expect(
                    holds(range.complement, OrderedBytes.complement(bytes)) == isIn, "seed \(seed): \(range), \(bytes)")
                #expect(holds(range.behind([0x02, 0x00, 0x01]), [0x02, 0x00, 0x01] + bytes) == isIn, "seed \(seed)")
            }
        }
    }
}
