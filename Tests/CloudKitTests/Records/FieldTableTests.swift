import Testing

@testable import CloudKit

struct FieldTableTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a field table behaves like a dictionary with an order`(seed: UInt64) {
        var state = seed
        func random(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        let keys = ["a", "b", "Z", "name", "title", "aVeryLongNameOfAField", "aVeryLongNameOfAnother", "x1", "x10"]
        var expected: [String: RecordField] = [:]
        var table = FieldTable([])
        for _ in 0..<300 {
            let key = keys[Int(random(UInt64(keys.count)))]
            let field = random(3) == 0 ? nil : RecordField(value: .int64(Int64(random(100))), isEncrypted: false)
            expected[key] = field
            table[key] = field
            #expect(table[key] == field)
            #expect(table.keys == expected.keys.sorted())
        }
        #expect(table.allSatisfy { expected[$0.key] == $0.value } && table.count == expected.count)
        #expect(FieldTable(expected).keys == table.keys)
        #expect(FieldTable(expected.map { ($0.key, $0.value) }).keys == table.keys)
        #expect(keys.allSatisfy { table[$0] == expected[$0] })
    }
}
