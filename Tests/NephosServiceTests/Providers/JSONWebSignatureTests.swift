import Foundation
import NephosCrypto
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Signed tokens, and texts that are almost some.
@Suite struct JSONWebSignatureTests {
    private struct Signed {
        var key: TestSigningKey
        var text: String
        var keys: ProviderKeys
    }

    private func signed(_ kind: TestSigningKey.Kind, payload: String = #"{"sub":"1"}"#) throws -> Signed {
        let key = try TestSigningKey(kind, id: "k")
        let header = #"{"alg":"\#(kind.rawValue)","kid":"k"}"#
        let message = "\(Data(header.utf8).base64URL).\(Data(payload.utf8).base64URL)"
        let set = try JSONSerialization.data(withJSONObject: ["keys": [key.publicKey]])
        return Signed(
            key: key, text: "\(message).\(try key.sign(Data(message.utf8)).base64URL)",
            keys: try ProviderKeys(decoding: [UInt8](set)))
    }

    private func isValid(_ text: String, _ keys: ProviderKeys) -> Bool {
        guard let signature = try? JSONWebSignature(text) else { return false }
        return signature.isSigned(byOneOf: keys.keys(for: signature))
    }

    @Test(arguments: TestSigningKey.Kind.allCases)
    func `any change of a byte is refused`(_ kind: TestSigningKey.Kind) throws {
        let signed = try signed(kind)
        #expect(isValid(signed.text, signed.keys))
        #expect(!isValid(signed.text, try self.signed(kind).keys))
        let seed =
            ProcessInfo.processInfo.environment["NEPHOS_FUZZ_SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max))
        let steps = ProcessInfo.processInfo.environment["NEPHOS_FUZZ_STEPS"].flatMap(Int.init) ?? 2000
        print("JSON Web Signatures of \(kind.rawValue): NEPHOS_FUZZ_SEED=\(seed)")
        var generator = SeededGenerator(seed: seed)
        let letters = Array("ABCXYZabcxyz0189-_.=+/ {}\",\n\u{7F}\u{0}".utf8)
        for _ in 0..<steps {
            var bytes = Array(signed.text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: bytes.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = letters.randomElement(using: &generator) ?? 0
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(letters.randomElement(using: &generator) ?? 0, at: index)
                default: bytes.removeSubrange(index...)
                }
                if bytes.isEmpty { bytes = [0x2E] }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if text != signed.text { #expect(!isValid(text, signed.keys), "seed \(seed): \(text)") }
        }
    }

    @Test func `headers that ask for another algorithm or an extension are refused`() throws {
        let signed = try signed(.rsa)
        let parts = signed.text.split(separator: ".").map(String.init)
        for header in [
            #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"HS256","kid":"k"}"#, #"{"alg":"RS512","kid":"k"}"#,
            #"{"alg":"PS256","kid":"k"}"#, #"{"alg":"rs256","kid":"k"}"#, #"{"kid":"k"}"#, #"{"alg":1}"#, "[]", "", "{",
            #"{"alg":"RS256","kid":"k","crit":["b64"]}"#, #"{"alg":"RS256","kid":"k","crit":null}"#,
            #"{"alg":"RS256","kid":1}"#,
        ] {
            let text = "\(Data(header.utf8).base64URL).\(parts[1]).\(parts[2])"
            #expect(throws: ProviderFailure.self, "\(header)") { try JSONWebSignature(text) }
        }
        for text in ["", ".", "..", "a.b", "\(signed.text).", ".\(signed.text)", "\(signed.text).x", "\(signed.text)="]
        {
            #expect(throws: ProviderFailure.self, "\(text)") { try JSONWebSignature(text) }
        }
        let long = try self.signed(.rsa, payload: String(repeating: "x", count: 49_000))
        #expect(throws: ProviderFailure.self) { try JSONWebSignature(long.text) }
    }

    @Test func `a key counts for its algorithm, its use and its name alone`() throws {
        let signed = try signed(.rsa)
        let key = signed.key.publicKey
        func isValid(_ changes: [String: Any?], _ more: [[String: Any]] = []) throws -> Bool {
            var key = key as [String: Any]
            for (name, value) in changes { key[name] = value }
            let set = try JSONSerialization.data(withJSONObject: ["keys": more + [key]])
            return self.isValid(signed.text, try ProviderKeys(decoding: [UInt8](set)))
        }
        #expect(try isValid([:]))
        #expect(try isValid(["alg": nil, "use": nil]))
        #expect(try isValid([:], [["kty": 1], ["kty": "oct", "k": "AA"], ["kty": "RSA", "n": "AQAB", "e": "AQAB"]]))
        for changes in [
            ["alg": "ES256"], ["alg": "RS512"], ["use": "enc"], ["kid": "other"], ["kid": nil], ["kty": "EC"],
            ["e": "AQ"], ["e": "AA"], ["e": "AAAA"], ["n": "AQAB"], ["n": ""], ["n": nil], ["n": "\(key["n"] ?? "")="],
        ] as [[String: String?]] {
            #expect(try !isValid(changes), "\(changes)")
        }
        for text in ["", "[]", "{}", #"{"keys":1}"#, #"{"keys":{}}"#] {
            #expect(throws: ProviderFailure.self) { try ProviderKeys(decoding: Array(text.utf8)) }
        }
    }

    @Test func `a token without a key's name counts if there is one key of its kind`() throws {
        let first = try TestSigningKey(.p256, id: "a")
        let message = "\(Data(#"{"alg":"ES256"}"#.utf8).base64URL).e30"
        let text = "\(message).\(try first.sign(Data(message.utf8)).base64URL)"
        let others = [try TestSigningKey(.rsa, id: "b"), try TestSigningKey(.p256, id: "c")]
        for (count, expected) in [(0, true), (1, true), (2, false)] {
            let set = ["keys": ([first] + others.prefix(count)).map(\.publicKey)]
            let keys = try ProviderKeys(decoding: [UInt8](try JSONSerialization.data(withJSONObject: set)))
            #expect(isValid(text, keys) == expected, "\(count)")
        }
    }

    @Test func `a point that is not on the curve is no key`() throws {
        let numbers = try TestSigningKey(.p256, id: "a").publicNumbers
        #expect(SignaturePublicKey(x: numbers[0], y: numbers[1]) != nil)
        var other = numbers[1]
        other[31] ^= 1
        #expect(SignaturePublicKey(x: numbers[0], y: other) == nil)
        #expect(SignaturePublicKey(x: [0] + numbers[0], y: numbers[1]) == nil)
        #expect(SignaturePublicKey(x: [UInt8](repeating: 0, count: 32), y: [UInt8](repeating: 0, count: 32)) == nil)
    }
}
