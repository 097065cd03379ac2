import NephosCrypto
import Testing

@testable import NephosService

@Suite struct PasswordRulesTests {
    @Test(arguments: [
        "short", "elevenchars", "aaaaaaaaaaaa", "abcabcabcabc", "123456789012", "password1234", "Password123!",
        "P@ssw0rd2026", "qwertyuiop[]", "qwertyuiopasdf", "adminadmin12", "iloveyou1234", "welcome12345",
        "letmein12345",
        "ada@example.org", "ada@example.o", "ada@example.org1", "!Ada@Example.org", "changeme2026", "111122223333",
        "abcdefghijklm", "1q2w3e4r5t6y",
    ])
    func `what is guessed first is refused`(_ password: String) {
        #expect(throws: ServiceError.self) { try PasswordRules.check(password, of: "ada@example.org") }
    }

    @Test(arguments: [
        "nine lives of a grey cat", "correct horse battery staple", "q7#Lw9!zRt2x", "ведро зелёных яблок",
        "the rain in Spain", "passage through fog", "x8k2m4q9w1z7",
    ])
    func `a long password that is not guessed first is taken, without rules about characters`(_ password: String) throws
    {
        try PasswordRules.check(password, of: "ada@example.org")
    }

    @Test func `a hash verifies its password alone, and names its parameters`() throws {
        let hash = try #require(PasswordHash.make("nine lives"))
        #expect(hash.hasPrefix("$argon2id$"))
        #expect(PasswordHash.verify("nine lives", hash))
        #expect(!PasswordHash.verify("nine live", hash) && !PasswordHash.verify("", hash))
        #expect(!PasswordHash.isOutdated(hash))
        #expect(
            PasswordHash.isOutdated(
                "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$" + String(repeating: "A", count: 43)))
        #expect(PasswordHash.make("nine lives") != hash)
    }

    @Test func `junk is no token, and a token's texts are one secret`() {
        for junk in ["", "dev:ada", String(repeating: "A", count: 66), "é", String(repeating: "=", count: 66)] {
            #expect(SecretToken(junk) == nil)
        }
        let token = SecretToken()
        #expect(SecretToken(token.text())?.hash == token.hash)
        #expect(SecretToken(SecretToken().text())?.hash != token.hash)
    }
}
