import Foundation

/// How long fuzzers run: briefly, unless the environment asks for more. `NEPHOS_FUZZ_STEPS=1000000 make test ARGS="--filter
/// Fuzz"` runs for hours. Seeds are the same in every run, so that a change is judged by what it changes;
/// `NEPHOS_FUZZ_SEED` gives another, or `random` ones.
package enum FuzzBudget {
    private static let environment = ProcessInfo.processInfo.environment

    package static func steps(_ usual: Int) -> Int { environment["NEPHOS_FUZZ_STEPS"].flatMap { Int($0) } ?? usual }

    package static let seeds: [UInt64] = {
        switch environment["NEPHOS_FUZZ_SEED"] {
        case "random": [.random(in: 0...1_000_000), .random(in: 0...1_000_000)]
        case let given?: UInt64(given).map { [$0] } ?? [1, 2]
        case nil: [1, 2]
        }
    }()
}
