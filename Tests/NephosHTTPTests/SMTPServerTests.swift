import Foundation
import Synchronization
import Testing

@testable import NephosHTTP

/// Mails to a stand-in for a mail server.
@Suite struct SMTPServerTests {
    private final class Session: Sendable {
        let lines = Mutex<[String]>([])
        let data = Mutex("")
        var commands: [String] { lines.withLock { $0 } }
    }

    /// A mail server that answers a command that begins with a key with its value.
    private func standIn(
        _ session: Session, _ answers: [String: String] = [:], extensions: [String] = []
    ) throws -> SocketServer {
        try SocketServer { connection in
            connection.write("220 stand-in\r\n")
            while let line = Self.line(connection) {
                session.lines.withLock { $0.append(line) }
                if let answer = answers.first(where: { line.hasPrefix($0.key) })?.value {
                    if answer.isEmpty { return }
                    connection.write("\(answer)\r\n")
                    continue
                }
                switch line.prefix(4) {
                case "EHLO":
                    let all = ["stand-in"] + extensions
                    for (index, name) in all.enumerated() {
                        connection.write("250\(index == all.count - 1 ? " " : "-")\(name)\r\n")
                    }
                case "DATA":
                    connection.write("354 go on\r\n")
                    var text = ""
                    while let line = Self.line(connection), line != "." { text += line + "\n" }
                    session.data.withLock { $0 = text }
                    connection.write("\(answers["."] ?? "250 taken")\r\n")
                case "QUIT": connection.write("221 bye\r\n")
                default: connection.write("250 ok\r\n")
                }
            }
        }
    }

    private static func line(_ connection: SocketServer.Connection) -> String? {
        var bytes: [UInt8] = []
        while let byte = connection.read(1) {
            bytes += byte
            if bytes.suffix(2) == [13, 10] { return String(decoding: bytes.dropLast(2), as: UTF8.self) }
        }
        return nil
    }

    private func send(
        _ server: SocketServer, timeout: Int = 20_000, requiresTLS: Bool = false, user: String? = nil,
        text: String = "Subject: x\r\n\r\n.\r\nend\r\n"
    ) async -> SMTPFailure? {
        let smtp = SMTPServer(
            url: "smtp://127.0.0.1:\(server.port)", requiresTLS: requiresTLS, user: user,
            password: user.map { "\($0)-secret" },
            ownName: "cloud.example.org", timeout: timeout)
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                do throws(SMTPFailure) {
                    try smtp.send(Array(text.utf8), from: "no-reply@example.org", to: "ada@example.org")
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
    }

    @Test func `a mail arrives whole`() async throws {
        let session = Session()
        let server = try standIn(session)
        #expect(await send(server) == nil)
        let commands = session.commands
        #expect(commands.first == "EHLO cloud.example.org")
        #expect(commands.contains { $0.hasPrefix("MAIL FROM:<no-reply@example.org>") })
        #expect(commands.contains { $0.hasPrefix("RCPT TO:<ada@example.org>") })
        // A line of a dot does not end the mail.
        #expect(session.data.withLock { $0 } == "Subject: x\n\n..\nend\n")
        server.close()
    }

    @Test(arguments: [
        ("MAIL", "550 no", true), ("RCPT", "550 5.1.1 ada@example.org is unknown", true), ("RCPT", "451 later", false),
        ("DATA", "554 no", true), (".", "554 spam", true), (".", "452 full", false), ("EHLO", "", false),
        ("RCPT", "", false),
    ])
    func `a refusal is for good or for now, and its reason has no address`(
        _ command: String, _ answer: String, _ isPermanent: Bool
    ) async throws {
        let session = Session()
        let server = try standIn(session, [command: answer])
        let failure = try #require(await send(server))
        #expect(failure.isPermanent == isPermanent, "\(failure)")
        #expect(!failure.reason.contains("ada") && !failure.reason.isEmpty)
        server.close()
    }

    @Test func `a server that must offer TLS and does not gets nothing`() async throws {
        let session = Session()
        let server = try standIn(session, extensions: ["AUTH PLAIN"])
        let failure = try #require(await send(server, requiresTLS: true, user: "cloud"))
        #expect(!failure.isPermanent && failure.reason.contains("offers no TLS"), "\(failure)")
        #expect(!session.commands.contains { $0.hasPrefix("AUTH") || $0.hasPrefix("MAIL") })
        server.close()
    }

    @Test func `a refused password is a failure for now`() async throws {
        let session = Session()
        let server = try standIn(session, ["AUTH": "535 no"], extensions: ["AUTH PLAIN"])
        let failure = try #require(await send(server, user: "cloud"))
        #expect(!failure.isPermanent && failure.reason.contains("refuses the user"), "\(failure)")
        server.close()
    }

    @Test func `a server that does not answer is a failure for now`() async throws {
        let server = try SocketServer { $0.waitForEnd() }
        let failure = try #require(await send(server, timeout: 100))
        #expect(!failure.isPermanent && failure.reason.lowercased().contains("timeout"), "\(failure)")
        server.close()
    }

    @Test func `a server that does not exist is a failure for now`() async throws {
        let server = try standIn(Session())
        server.close()
        let failure = try #require(await send(server))
        #expect(!failure.isPermanent && failure.status == 0)
    }
}
