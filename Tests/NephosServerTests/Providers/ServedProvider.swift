import Foundation
import NephosTesting

@testable import NephosServer

/// An identity provider on this machine, over HTTP, for `nephos serve` as a program.
final class ServedProvider: Sendable {
    let lying: LyingProvider
    let server: HTTPServer

    /// - Parameter changed: the answer in place of the provider's; nil for the provider's.
    init(_ changed: @escaping @Sendable (String) async -> HTTPResponse? = { _ in nil }) throws {
        let sockets = try ListeningSocket.loopback(port: 0)
        let lying = try LyingProvider(issuer: "http://127.0.0.1:\(sockets[0].port)", kind: .rsa) {
            Int64(Date().timeIntervalSince1970 * 1000)
        }
        self.lying = lying
        server = try HTTPServer(sockets) { request in
            let path = String(request.target.prefix { $0 != "?" })
            if let answer = await changed(path) { return answer }
            let found = lying.answer(
                lying.issuer + path,
                form: request.method == .post ? String(decoding: request.body, as: UTF8.self) : nil,
                authorization: request.authorization)
            return HTTPResponse(status: found.status, body: found.body)
        }
    }

    /// The arguments of a server with the provider, in which everybody may sign up, and whose mails go to the directory.
    func arguments(in directory: URL) throws -> [String] {
        [
            "--providers", try settings(in: directory), "--sign-up", "open", "--mail-directory", directory.path,
            "--mail-from", "no-reply@example.org",
        ]
    }

    /// Writes a file with the provider, `own`, for `--providers`, and returns its path.
    private func settings(in directory: URL) throws -> String {
        let secret = directory.appendingPathComponent("secret")
        try Data("\(lying.secret)\nanother line".utf8).write(to: secret)
        let file = directory.appendingPathComponent("providers.json")
        try Data(
            """
            {"providers": [{"name": "own", "title": "Our own", "issuer": "\(lying.issuer)",
              "clientID": "\(lying.clientID)", "clientSecretFile": "\(secret.path)"}]}
            """.utf8
        ).write(to: file)
        return file.path
    }
}
