import NephosTesting

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// True once in so many times.
    mutating func chance(_ outOf: Int) -> Bool { below(outOf) == 0 }
}
