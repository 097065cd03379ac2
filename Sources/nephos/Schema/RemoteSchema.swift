import FoundationEssentials
import NephosService
import NephosWire

/// A schema on a running server, reached over HTTP.
struct RemoteSchema: SchemaPlace {
    static let localURL = "http://127.0.0.1:8484"

    private let server: PlainHTTP
    private let path: String

    init(_ url: String, container: String, environment: ContainerEnvironment) throws(SchemaFailure) {
        server = try PlainHTTP(url)
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
        String(decoding: try ask("GET", "export"), as: UTF8.self)
    }

    func importSchema(_ text: String) throws(SchemaFailure) -> SchemaReport { try report("import", text) }
    func validateSchema(_ text: String) throws(SchemaFailure) -> SchemaReport { try report("validate", text) }
    func resetSchema() throws(SchemaFailure) -> SchemaReport { try report("reset", "") }
    func deploySchema() throws(SchemaFailure) -> SchemaReport { try report("deploy", "") }

    func schemaIndexes() throws(SchemaFailure) -> IndexesReport {
        let body = try ask("GET", "indexes")
        guard let report = try? IndexesReport(decoding: body) else { throw notUnderstood }
        return report
    }

    func close() {}

    private func report(_ action: String, _ text: String) throws(SchemaFailure) -> SchemaReport {
        let (status, body) = try server.request("POST", path + action, body: Array(text.utf8))
        guard let report = try? SchemaReport(decoding: body) else { throw notUnderstood }
        // A refusal has findings; any other error has a reason alone.
        if status == 200 || !report.isAllowed { return report }
        throw failure(status, body)
    }

    private func ask(_ method: String, _ action: String) throws(SchemaFailure) -> [UInt8] {
        let (status, body) = try server.request(method, path + action, body: [])
        guard status == 200 else { throw failure(status, body) }
        return body
    }

    private func failure(_ status: Int, _ body: [UInt8]) -> SchemaFailure {
        guard let error = try? ErrorDictionary(decoding: body) else { return notUnderstood }
        return SchemaFailure("\(server.description): \(error.serverErrorCode.rawValue): \(error.reason)")
    }

    private var notUnderstood: SchemaFailure {
        SchemaFailure("\(server.description) gave an answer that is not a Nephos server's of this version.")
    }
}
