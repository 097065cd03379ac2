import Foundation
import Testing

@testable import NephosService

/// The addresses, the texts and the bytes of mails.
@Suite struct MailMessageTests {
    @Test(arguments: [
        "ada@example.org", "Ada.Lovelace+cloud@Example.ORG", "a@b", "o'neil@x-y.example",
        "\(String(repeating: "a", count: 64))@example.org",
    ])
    func `an address is taken in lower case`(_ text: String) {
        #expect(MailAddress(text)?.text == text.lowercased())
    }

    @Test(arguments: [
        "", "ada", "@", "ada@", "@example.org", "a@b@c", "ada@example..org", ".ada@example.org", "ada.@example.org",
        "ada@-example.org", "ada@example-.org", "ada @example.org", "ada@example.org\r\nBcc: eve@example.org",
        "ada@example.org\n", "<ada@example.org>", "\"ada\"@example.org", "ada(x)@example.org", "ada@[192.0.2.1]",
        "ada@192.0.2.1", "ada@127.1", "ada@2130706433", "ada@example.1",
        "ada,eve@example.org", "ädа@example.org", "ada@exämple.org", "ada@example.org\0", "ada@example.org>",
        "\(String(repeating: "a", count: 65))@example.org", "a@\(String(repeating: "b", count: 64)).org",
        "a@\(String(repeating: "b.", count: 130))org",
    ])
    func `a text that could be more than an address is none`(_ text: String) {
        #expect(MailAddress(text) == nil)
    }

    @Test func `a sender has a name or none`() throws {
        #expect(MailSender("no-reply@example.org")?.name == "")
        #expect(MailSender("App <no-reply@example.org>")?.name == "App")
        for text in ["", "App", "App <x>", "App\r\nTo: <a@b>", "App no-reply@example.org", "<>"] {
            #expect(MailSender(text) == nil, "\(text)")
        }
    }

    private func mail(
        from: String = "no-reply@example.org", subject: String = "Hello", body: String
    ) throws -> String {
        let message = MailMessage(
            from: try #require(MailSender(from)), to: try #require(MailAddress("ada@example.org")), subject: subject,
            body: body, id: "1", date: 1_795_680_632_000)
        return String(decoding: message.bytes, as: UTF8.self)
    }

    @Test func `a mail is plain text with the headers of one that a program sent`() throws {
        #expect(
            try mail(from: "Cloud \"9\" <no-reply@example.org>", body: "One\nTwo") == """
                From: "Cloud \\"9\\"" <no-reply@example.org>\r
                To: <ada@example.org>\r
                Subject: Hello\r
                Date: Thu, 26 Nov 2026 08:10:32 +0000\r
                Message-ID: <1@example.org>\r
                Auto-Submitted: auto-generated\r
                MIME-Version: 1.0\r
                Content-Type: text/plain; charset=utf-8\r
                Content-Transfer-Encoding: 7bit\r
                \r
                One\r
                Two\r

                """)
    }

    @Test func `text beyond ASCII and long lines are encoded`() throws {
        let subject = String(repeating: "Zürich – ", count: 20)
        let body = "Grüße = 1 \n\(String(repeating: "long ", count: 300))"
        let mail = try mail(from: "Ünï <no-reply@example.org>", subject: subject, body: body)
        #expect(mail.utf8.allSatisfy { $0 < 0x80 })
        #expect(mail.contains("Content-Transfer-Encoding: quoted-printable\r\n"))
        #expect(mail.contains("\r\n\r\nGr=C3=BC=C3=9Fe =3D 1=20\r\n"))
        for line in mail.components(separatedBy: "\r\n") { #expect(line.utf8.count <= 90, "\(line)") }
        let words = mail.matches(of: /=\?UTF-8\?B\?([^?]*)\?=/).map { String($0.1) }
        let decoded = words.compactMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
        #expect(decoded.joined() == "Ünï" + subject)
        #expect(words.allSatisfy { $0.utf8.count <= 63 })
    }

    @Test func `no subject ends its header`() {
        for text in ["a\r\nBcc: eve@example.org", "a\nb", String(repeating: "é\r\n", count: 50)] {
            let encoded = MailMessage.encodedWords(text)
            #expect(!encoded.replacing("\r\n =?", with: "").contains { $0.isNewline }, "\(encoded)")
        }
    }

    @Test func `a template is filled in once`() throws {
        var templates = MailTemplates()
        try templates.replace(.recovery, with: "Subject: {server}: {address}\n\nGo to {link}, {not one} {}{ {link}\n")
        let filled = templates.filled(.recovery, ["server": "{link}", "address": "ada", "link": "URL"])
        #expect(filled.subject == "{link}: ada")
        #expect(filled.body == "Go to URL, {not one} {}{ URL\n")
    }

    @Test func `a wrong template is refused with its reason`() throws {
        var templates = MailTemplates()
        for (template, text, reason) in [
            (MailTemplate.recovery, "Hello {link}", "begins with a line 'Subject: "),
            (.recovery, "Subject: x\n\n", "begins with a line 'Subject: "),
            (.recovery, "Subject: x\n\ny", "has no {link}"),
            (.recovery, "Subject: {link}\n\ny", "has no {link}"),
            (.signUp, "Subject: x\n\n{link} {name}", "unknown placeholder {name}"),
            (.passwordChanged, "Subject: x\n\n{link}", "unknown placeholder {link}"),
            (.recovery, "Subject: x\n\n{link}" + String(repeating: "y", count: 65_536), "larger than 64 KB"),
        ] {
            var refused: String?
            do throws(ServiceError) { try templates.replace(template, with: text) } catch { refused = error.reason }
            #expect(
                refused?.contains(reason) == true && refused?.contains("\(template.rawValue).txt") == true,
                "\(text.prefix(40)): \(refused ?? "taken")")
        }
    }

    @Test(arguments: MailTemplate.allCases)
    func `the standard texts follow the rules of those that replace them`(_ template: MailTemplate) throws {
        var templates = MailTemplates()
        try templates.replace(template, with: template.standard)
        let filled = templates.filled(template, ["server": "cloud", "address": "ada@example.org", "link": "URL"])
        #expect(filled.subject.contains("cloud") && !filled.body.contains("{"))
    }
}
