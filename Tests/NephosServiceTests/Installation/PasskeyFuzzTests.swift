import NephosPasskeys
import NephosTesting
import Testing

@testable import NephosService

/// Bytes that no authenticator sent: none stops the process, and none verifies.
@Suite struct PasskeyFuzzTests {
    private static let relyingParty = "cloud.example.org"
    private let verifier = FidoVerifier()

    /// Changes, removes, repeats or adds some bytes.
    private func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where index < bytes.count: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where index < bytes.count: bytes[index] = .random(in: 0 ... .max, using: &random)
            case 2: bytes.removeSubrange(index...)
            case 3: bytes.insert(.random(in: 0 ... .max, using: &random), at: index)
            case 4 where index < bytes.count: bytes.remove(at: index)
            case 5: bytes.insert(contentsOf: bytes.prefix(index), at: index)
            default: bytes.append(.random(in: 0 ... .max, using: &random))
            }
        }
        return bytes
    }

    @Test(arguments: FuzzBudget.seeds)
    func `the data of a new passkey is read or refused`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let passkeys = try [SoftwarePasskey(.es256), SoftwarePasskey(.edDSA), SoftwarePasskey(.rs256)]
        for step in 0..<FuzzBudget.steps(3000) {
            let passkey = passkeys[step % passkeys.count]
            let data = passkey.authenticatorData(relyingParty: Self.relyingParty, isNew: true)
            #expect(step >= passkeys.count || verifier.credential(in: data)?.id == passkey.id)
            guard let read = verifier.credential(in: mutated(data, &random)) else { continue }
            let sizes: [PasskeyKey.Algorithm: Int] = [.es256: 64, .edDSA: 32, .rs256: 259]
            #expect(read.key.bytes.count == sizes[read.key.algorithm], "seed \(seed), step \(step)")
        }
        for count in 0..<200 {
            _ = verifier.credential(in: (0..<count).map { _ in .random(in: 0 ... .max, using: &random) })
        }
    }

    @Test(arguments: FuzzBudget.seeds)
    func `a changed assertion never verifies`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for algorithm in [SoftwarePasskey.Algorithm.es256, .edDSA, .rs256] {
            let passkey = try SoftwarePasskey(algorithm)
            let new = passkey.authenticatorData(relyingParty: Self.relyingParty, isNew: true)
            let key = try #require(verifier.credential(in: new)).key
            let client = SoftwarePasskey.clientData(
                type: "webauthn.get", challenge: "x", origin: "https://x.example.org")
            let data = passkey.authenticatorData(relyingParty: Self.relyingParty, counter: 7)
            let whole = PasskeyAssertion(
                clientData: client, authenticatorData: data,
                signature: try passkey.signature(clientData: client, authenticatorData: data))
            #expect(verifier.counter(of: whole, by: key, relyingParty: Self.relyingParty) == 7)
            for step in 0..<FuzzBudget.steps(2000) {
                var (assertion, changedKey) = (whole, key)
                switch step % 4 {
                case 0: assertion.clientData = mutated(client, &random)
                case 1: assertion.authenticatorData = mutated(data, &random)
                case 2: assertion.signature = mutated(whole.signature, &random)
                default: changedKey.bytes = mutated(key.bytes, &random)
                }
                if assertion == whole, changedKey == key { continue }
                #expect(
                    verifier.counter(of: assertion, by: changedKey, relyingParty: Self.relyingParty) == nil,
                    "\(algorithm), seed \(seed), step \(step)")
            }
        }
    }
}
