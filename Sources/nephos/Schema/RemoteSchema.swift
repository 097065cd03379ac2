import NephosHTTP
import NephosService
import NephosWire

/// A schema on a running server, which is accessed over HTTP or its Unix socket.
struct RemoteSchema: SchemaPlace {
    static let localURL = "http://127.0.0.1:8484"

    private let server: ServerConnection
    private let path: String

    init(
        _ server: ServerConnection, container: String, environment: ContainerEnvironment
    ) throws(SchemaFailure) {
        self.server = server
        let allowed = container.utf8.allSatisfy { byte in
            (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
                || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || ".-_".utf8.contains(byte)
        }
        guard allowed, !container.isEmpty else {
            throw SchemaFailure(
                "'\(container)' is no container identifier: letters, digits, '.', '-' and '_', for example "
                    + "iCloud.org.example.App.")
        }
        path = "/nephos/1/\(container)/\(environment.rawValue)/schema/"
    }

    func exportSchema() throws(SchemaFailure) -> String {
        String(decoding: try ask(.get, "export"), as: UTF8.self)
    }

    func importSchema(_ text: String) throws(SchemaFailure) -> SchemaReport { try report("import", text) }
    func mergeSchema(_ text: String) throws(SchemaFailure) -> SchemaReport { try report("merge", text) }
    func validateSchema(_ text: String) throws(SchemaFailure) -> SchemaReport { try report("validate", text) }
    func resetSchema() throws(SchemaFailure) -> SchemaReport { try report("reset", "") }
    func deploySchema() throws(SchemaFailure) -> SchemaReport { try report("deploy", "") }
    func dropField(_ request: DropFieldRequest) throws(SchemaFailure) -> SchemaReport {
        try report("drop", String(decoding: request.encoded(), as: UTF8.self))
    }

    func preflight(_ text: String?) throws(SchemaFailure) -> SchemaReport {
        try report("preflight", text ?? "", text == nil ? .get : .post)
    }

    func schemaIndexes() throws(SchemaFailure) -> IndexesReport {
        let body = try ask(.get, "indexes")
        guard let report = try? IndexesReport(decoding: body) else { throw notUnderstood }
        return report
    }

    func close() {}

    private func report(
        _ action: String, _ text: String, _ method: HTTPRequest.Method = .post
    ) throws(SchemaFailure) -> SchemaReport {
        let (status, body) = try answer(method, action, text)
        guard let report = try? SchemaReport(decoding: body) else { throw notUnderstood }
        // A refused schema has a report with findings. Any other error has only a reason.
        if status == 200 || !report.isAllowed { return report }
        throw failure(status, body)
    }

    private func ask(_ method: HTTPRequest.Method, _ action: String) throws(SchemaFailure) -> [UInt8] {
        let (status, body) = try answer(method, action, "")
        guard status == 200 else { throw failure(status, body) }
        return body
    }

    private func answer(
        _ method: HTTPRequest.Method, _ action: String, _ text: String
    ) throws(SchemaFailure) -> (Int, [UInt8]) {
        do throws(ServerConnection.Failure) {
            return try server.request(
                method, path + action, contentType: "text/plain; charset=UTF-8", body: Array(text.utf8))
        } catch {
            throw SchemaFailure(error.description)
        }
    }

    private func failure(_ status: Int, _ body: [UInt8]) -> SchemaFailure {
        guard let error = try? ErrorDictionary(decoding: body) else { return notUnderstood }
        return SchemaFailure("\(server.place): \(error.serverErrorCode.rawValue): \(error.reason)")
    }

    private var notUnderstood: SchemaFailure {
        SchemaFailure("\(server.place) gave an answer that is not a Nephos server's of this version.")
    }
}
