import NephosCrypto
import Testing

/// Sealed content, boxes and signatures.
@Suite struct SealTests {
    private let key = SealKey.random()
    private let content = Array("content".utf8)

    private func context(_ values: String...) -> SealContext {
        var context = SealContext("test")
        for value in values { context.append(value) }
        return context
    }

    @Test func `a sealed text opens only with the same key and context`() {
        let sealed = key.seal(content, context: context("a", "b"), header: [9, 9])
        #expect(sealed.count == 2 + SealKey.overhead + content.count && sealed.prefix(2) == [9, 9])
        #expect(key.open(sealed.dropFirst(2), context: context("a", "b")) == content)
        #expect(key.open(sealed.dropFirst(2), context: context("ab", "")) == nil)
        #expect(key.open(sealed.dropFirst(2), context: context("a", "b", "")) == nil)
        #expect(SealKey.random().open(sealed.dropFirst(2), context: context("a", "b")) == nil)
        #expect(key.seal(content, context: context("a", "b"), header: [9, 9]) != sealed, "a nonce comes once")
    }

    @Test func `an empty text can be sealed`() {
        let sealed = key.seal([], context: context())
        #expect(sealed.count == SealKey.overhead)
        #expect(key.open(sealed[...], context: context()) == [])
    }

    @Test func `a flipped bit, a shorter text and a longer text do not open`() {
        let sealed = key.seal(content, context: context())
        for index in sealed.indices {
            for bit in UInt8(0)..<8 {
                var other = sealed
                other[index] ^= 1 << bit
                #expect(key.open(other[...], context: context()) == nil)
            }
            #expect(key.open(sealed.prefix(index), context: context()) == nil)
        }
        #expect(key.open((sealed + [0])[...], context: context()) == nil)
    }

    @Test func `a box opens only with its key pair`() throws {
        let pair = BoxKeyPair.random()
        let box = try #require(BoxKeyPair.seal(content, for: pair.publicKey))
        #expect(box.count == content.count + BoxKeyPair.overhead)
        #expect(BoxKeyPair(secretKey: pair.secretKey)?.open(box) == content)
        #expect(BoxKeyPair.random().open(box) == nil)
        #expect(pair.open(Array(box.dropLast())) == nil && pair.open([]) == nil)
        #expect(BoxKeyPair.seal(content, for: [1]) == nil && BoxKeyPair(secretKey: [1]) == nil)
    }

    @Test func `a signature is valid only for its message and key pair`() {
        let pair = SigningKeyPair.random()
        let signature = pair.signature(of: content)
        #expect(SigningKeyPair(seed: pair.seed)?.publicKey == pair.publicKey)
        #expect(SigningKeyPair.isValid(signature, of: content, by: pair.publicKey))
        #expect(!SigningKeyPair.isValid(signature, of: content + [0], by: pair.publicKey))
        #expect(!SigningKeyPair.isValid(signature, of: content, by: SigningKeyPair.random().publicKey))
        #expect(!SigningKeyPair.isValid(Array(signature.dropLast()), of: content, by: pair.publicKey))
        #expect(SigningKeyPair(seed: [1]) == nil)
    }
}
