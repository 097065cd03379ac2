package import Foundation

/// An authority that a test makes with `openssl`, in a directory that is removed with the last reference to it.
package final class TestAuthority: Sendable {
    private let directory: URL

    package init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try openssl(
            ["req", "-x509"] + Self.newKey + ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=CA", "-days", "2"])
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// The certificate of the authority, in PEM.
    package var certificate: URL { directory.appendingPathComponent("ca.pem") }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    /// Makes a certificate with its key.
    /// - Parameters:
    ///   - name: the host in the form of `subjectAltName`, such as `IP:127.0.0.1`.
    ///   - days: the time for which it is valid; -1 for a certificate that expired yesterday.
    /// - Returns: the file of both.
    func issue(to name: String, days: Int) throws -> URL {
        let id = UUID().uuidString
        try openssl(
            ["req"] + Self.newKey + [
                "-keyout", "\(id).key", "-out", "\(id).csr", "-subj", "/CN=leaf", "-addext", "subjectAltName=\(name)",
            ])
        try openssl([
            "x509", "-req", "-in", "\(id).csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "1",
            "-copy_extensions", "copy", "-days", "\(days)", "-out", "\(id).crt",
        ])
        let file = directory.appendingPathComponent("\(id).pem")
        let parts = try ["key", "crt"].map { try Data(contentsOf: directory.appendingPathComponent("\(id).\($0)")) }
        try Data(parts.joined()).write(to: file)
        return file
    }

    private func openssl(_ arguments: [String]) throws { try OpenSSL.run(arguments, in: directory) }
}

/// A server with TLS on the loopback, in a process of its own, that gives every request the same answer. It ends with
/// the last reference to it.
package final class TLSServer: @unchecked Sendable {
    // `@unchecked`: only `init` and `deinit` use the process and its pipes.
    private let process = Process()
    private let input = Pipe()
    private let port: Int

    package var url: String { "https://127.0.0.1:\(port)" }

    /// - Parameters:
    ///   - name: the host in the certificate, in the form of `subjectAltName`.
    ///   - days: the time for which the certificate is valid; -1 for one that expired yesterday.
    package init(_ authority: TestAuthority, name: String = "IP:127.0.0.1", days: Int = 1, answer: String) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.program, try authority.issue(to: name, days: days).path, answer]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.prefix { $0.isNumber }) else {
            throw OpenSSL.Failure(description: "the server does not say its port: \(line)")
        }
        self.port = port
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { process.terminate() }
    }

    private static let program = """
        import http.server, ssl, sys, threading

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = sys.argv[2].encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            do_GET = do_POST = answer
            def log_message(self, *arguments): pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *arguments): pass

        server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        """
}
