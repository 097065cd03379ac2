import NephosCrypto
import Testing

@Suite("Authenticated tokens")
struct AuthenticatedTokenTests {
    private static let key = AuthenticationKey.random()

    private func read(
        _ text: String, key: AuthenticationKey = Self.key, purpose: String = "cursor", context: [UInt8] = [1, 2]
    ) -> [UInt8]? {
        AuthenticatedToken(text, key, purpose: purpose, context: context)?.content
    }

    @Test(arguments: 0..<40)
    func `a token decodes for its key, purpose and context`(count: Int) {
        let content = RandomBytes.make(count)
        let text = AuthenticatedToken(content).text(Self.key, purpose: "cursor", context: [1, 2])
        #expect(read(text) == content)
        #expect(read(text, key: .random()) == nil)
        #expect(read(text, purpose: "curso") == nil)
        #expect(read(text, context: [1]) == nil)
        #expect(read(text, purpose: "curso", context: [UInt8(ascii: "r"), 1, 2]) == nil)
        #expect(text.utf8.allSatisfy { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") })
    }

    @Test func `a text with one character changed, missing or added does not decode`() {
        let text = AuthenticatedToken(Array("content".utf8)).text(Self.key, purpose: "cursor", context: [1, 2])
        let characters = Array(text)
        for index in characters.indices {
            for replacement in ["A", "b", "-", "_", "=", "é", "\0"] where String(characters[index]) != replacement {
                #expect(read(String(characters[..<index]) + replacement + String(characters[(index + 1)...])) == nil)
            }
            #expect(read(String(characters[..<index])) == nil)
            #expect(read(String(characters[..<index]) + "A" + String(characters[index...])) == nil)
        }
        #expect(read(text + "A") == nil)
        #expect(read(text + "=") == nil)
        #expect(read(" " + text) == nil)
    }

    @Test func `a text reveals nothing of its content, and is deterministic`() {
        let one = AuthenticatedToken(Array(repeating: 0x41, count: 300)).text(Self.key, purpose: "cursor", context: [])
        let same = AuthenticatedToken(Array(repeating: 0x41, count: 300)).text(Self.key, purpose: "cursor", context: [])
        let other = AuthenticatedToken(Array(repeating: 0x41, count: 301)).text(
            Self.key, purpose: "cursor", context: [])
        #expect(one == same)
        #expect(one.prefix(40) != other.prefix(40))
        // Content in base64 would repeat itself.
        #expect(one.prefix(4) != one.dropFirst(4).prefix(4) || one.dropFirst(4).prefix(4) != one.dropFirst(8).prefix(4))
    }

    @Test func `a key has 32 bytes`() {
        #expect(AuthenticationKey([UInt8](repeating: 1, count: 31)) == nil)
        #expect(AuthenticationKey([UInt8](repeating: 1, count: 33)) == nil)
        #expect(AuthenticationKey.random() != AuthenticationKey.random())
    }
}

@Suite("Streaming hashes")
struct StreamingHashTests {
    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    @Test func `SHA-256 of abc in pieces is the example of FIPS 180-4`() {
        let hash = StreamingHash(.sha256)
        hash.update(Array("ab".utf8))
        hash.update([])
        hash.update(Array("c".utf8))
        #expect(
            hexadecimal(hash.finish()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `BLAKE2b-256 of abc is the example of RFC 7693`() {
        let hash = StreamingHash(.blake2b)
        hash.update(Array("abc".utf8))
        #expect(
            hexadecimal(hash.finish()) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
    }
}
