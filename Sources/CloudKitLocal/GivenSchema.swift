import NephosService
import NephosWire
import Synchronization

/// The schema with which each container of a cloud begins. It is imported before the container's first request.
package final class GivenSchema: Sendable {
    private let text: String
    private let imports = Mutex<[String: Task<ServiceError?, Never>]>([:])

    /// - Throws: `LocalCloudError` for a schema that breaks a rule.
    package init(_ text: String) throws(LocalCloudError) {
        self.text = text
        let errors = SchemaReport(SchemaCommands.validate(text), changes: []).findings.filter(\.isError)
        if !errors.isEmpty { throw LocalCloudError(errors.map(\.placedMessage).joined(separator: "\n")) }
    }

    /// Returns once the container has the schema.
    func define(in container: String, of service: NephosService) async throws(ServiceError) {
        let task = imports.withLock { imports in
            if let known = imports[container] { return known }
            let task = Task { [text] () -> ServiceError? in
                let context = RequestContext(
                    container: container, environment: .development, scope: .public, account: nil, requestID: "schema")
                do throws(ServiceError) {
                    _ = try await service.importSchema(text, context)
                    return nil
                } catch {
                    return error
                }
            }
            imports[container] = task
            return task
        }
        if let error = await task.value { throw error }
    }
}

extension SchemaReport.Finding {
    /// The finding's line and column, then its text.
    var placedMessage: String {
        guard let line, let column else { return message }
        return "line \(line), column \(column): \(message)"
    }
}
