import Foundation
import NephosTesting
import Testing

/// `nephos serve` with mail, as a program.
@Suite struct MailTests {
    private static let from = ["--mail-from", "Cloud <no-reply@example.org>"]

    private static let refused: [(options: [String], reason: String)] = [
        (["--sign-up", "open"], "needs mail"), (["--sign-up", "all"], "takes open, invitation or off"),
        (["--mail-smtp", "smtp://127.0.0.1"], "needs '--mail-from SENDER'"),
        (["--mail-from", "a@b"], "needs '--mail-smtp URL' or '--mail-directory DIR'"),
        (["--mail-smtp", "http://a", "--mail-from", "a@b"], "takes smtps://HOST:PORT"),
        (["--mail-smtp", "smtp://ada:word@a", "--mail-from", "a@b"], "the password in '--mail-password-file FILE'"),
        (["--mail-smtp", "smtp://a/path", "--mail-from", "a@b"], "takes smtps://HOST:PORT"),
        (["--mail-smtp", "smtp://a:65536", "--mail-from", "a@b"], "takes smtps://HOST:PORT"),
        (["--mail-smtp", "smtp://a:0", "--mail-from", "a@b"], "takes smtps://HOST:PORT"),
        (["--mail-smtp", "smtp://a", "--mail-from", "nobody"], "is no sender"),
        (["--mail-smtp", "smtp://a", "--mail-user", "ada", "--mail-from", "a@b"], "need each other"),
        (
            ["--mail-smtp", "smtp://a", "--mail-user", "ada", "--mail-password-file", "missing", "--mail-from", "a@b"],
            "cannot be read"
        ),
        (["--mail-smtp", "smtp://a", "--mail-ca", "missing", "--mail-from", "a@b"], "cannot be read"),
        (["--mail-smtp", "smtp://a", "--mail-directory", "x", "--mail-from", "a@b"], "exclude each other"),
        (["--mail-directory", "missing", "--mail-from", "a@b"], "there is no directory missing"),
        (["--mail-directory", "/tmp", "--mail-user", "ada", "--mail-from", "a@b"], "needs '--mail-smtp URL'"),
        (["--mail-directory", "/tmp", "--mail-templates", "missing", "--mail-from", "a@b"], "missing cannot be read"),
    ]

    /// What `nephos serve --check` says with options about mail.
    private func check(_ options: [String]) async throws -> Finished {
        var finished: Finished?
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data")
            try FileManager.default.createDirectory(
                at: data, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            finished = try await StartedNephos(
                ["serve", "--check", "--data", data.path, "--url", "http://127.0.0.1:1"] + options
            ).finish()
        }
        return try #require(finished)
    }

    @Test(arguments: refused)
    func `options that contradict each other are refused with their reason`(
        _ options: [String], _ reason: String
    ) async throws {
        let finished = try await check(options)
        #expect(finished.status == 2 && finished.errors.contains(reason), "\(options): \(finished.errors)")
        #expect(!finished.errors.contains("word@"))
    }

    @Test func `the check says where mail goes`() async throws {
        for (url, text) in [
            ("smtp://127.0.0.1:25", "smtp://127.0.0.1:25 without TLS"),
            ("smtp://mail.example.org", "smtp://mail.example.org:587;"),
            ("smtp://127.0.0.1.example.org", "smtp://127.0.0.1.example.org:587;"),
            ("smtps://mail.example.org", "smtps://mail.example.org:465;"),
        ] {
            let finished = try await check(["--mail-smtp", url] + Self.from)
            #expect(finished.status == 0 && finished.output.contains("mail goes to \(text)"), "\(finished)")
        }
    }

    @Test func `a wrong text of a mail is refused at the start`() async throws {
        try await withTemporaryDirectory { directory in
            for (name, text, reason) in [
                ("recovery.txt", "Subject: x\n\n{lnk}", "unknown placeholder {lnk}"),
                ("recover.txt", "x", "there is no mail recover.txt"),
            ] {
                let file = directory.appendingPathComponent(name)
                try Data(text.utf8).write(to: file)
                let finished = try await check(
                    ["--mail-directory", directory.path, "--mail-templates", directory.path] + Self.from)
                #expect(finished.status == 2 && finished.errors.contains(reason), "\(finished.errors)")
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    @Test func `an invitation is written into the directory, with the text of a file`() async throws {
        try await withTemporaryDirectory { directory in
            let (mails, templates) = (
                directory.appendingPathComponent("mails"), directory.appendingPathComponent("texts")
            )
            for url in [mails, templates] {
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            }
            try Data("Subject: Grüße\n\nCome to {server}: {link}\n".utf8).write(
                to: templates.appendingPathComponent("invitation.txt"))
            let served = try ServedInstallation(
                directory.appendingPathComponent("data"),
                storage: [
                    "--mail-directory", mails.path, "--mail-templates", templates.path, "--sign-up", "invitation",
                ]
                    + Self.from)
            try await served.start()
            #expect(try await served.output("accounts", "invite", "Ada@example.org") == "the invitation is mailed")
            var files: [String] = []
            await eventually {
                files = (try? FileManager.default.contentsOfDirectory(atPath: mails.path)) ?? []
                files.removeAll { !$0.hasSuffix(".eml") }
                return !files.isEmpty
            }
            let mail = try String(contentsOf: mails.appendingPathComponent(files[0]), encoding: .utf8)
            #expect(mail.contains("\r\nTo: <ada@example.org>\r\n") && mail.contains("\r\nSubject: =?UTF-8?B?"))
            #expect(mail.contains("\r\n\r\nCome to 127.0.0.1: \(served.url)/link?token="), "\(mail)")
            try await served.stop()
        }
    }
}
