import NephosService
import NephosWire

/// The routes of the schema, `/nephos/1/{container}/{environment}/schema/{action}`. They are not Apple's, because the
/// protocol of Apple's console and of `cktool` is not public.
enum SchemaRoutes {
    static let table: [Route] = [
        Route([.get], "/nephos/schema/export", access: .view) { routed throws(Refusal) in
            .text(
                try await routed.schema { service, context throws(ServiceError) in
                    try await service.exportSchema(context)
                })
        },
        Route([.post], "/nephos/schema/validate", access: .view) { routed throws(Refusal) in
            let text = try routed.schemaText()
            return try await routed.report { service, context throws(ServiceError) in
                try await service.validateSchema(text, context)
            }
        },
        Route([.post], "/nephos/schema/import", access: .change) { routed throws(Refusal) in
            let text = try routed.schemaText()
            return try await routed.report { service, context throws(ServiceError) in
                try await service.importSchema(text, context)
            }
        },
        Route([.post], "/nephos/schema/merge", access: .change) { routed throws(Refusal) in
            let text = try routed.schemaText()
            return try await routed.report { service, context throws(ServiceError) in
                try await service.mergeSchema(text, context)
            }
        },
        Route([.post], "/nephos/schema/reset", access: .change) { routed throws(Refusal) in
            try await routed.report { service, context throws(ServiceError) in try await service.resetSchema(context) }
        },
        Route([.post], "/nephos/schema/drop", access: .change) { routed throws(Refusal) in
            let request = try routed.message(DropFieldRequest.self)
            return try await routed.report { service, context throws(ServiceError) in
                try await service.dropField(request, context)
            }
        },
        Route([.post], "/nephos/schema/deploy", access: .change) { routed throws(Refusal) in
            let request = try routed.message(DeploySchemaRequest.self)
            return try await routed.report { service, context throws(ServiceError) in
                try await service.deploySchema(request, context)
            }
        },
        Route([.get], "/nephos/schema/deployment", access: .view) { routed throws(Refusal) in
            try await routed.report { service, context throws(ServiceError) in
                try await service.previewDeployment(context)
            }
        },
        Route([.get, .post], "/nephos/schema/preflight", access: .view) { routed throws(Refusal) in
            let text = routed.request.method == .post ? try routed.schemaText() : nil
            return try await routed.report { service, context throws(ServiceError) in
                try await service.preflight(text, context)
            }
        },
        Route([.get], "/nephos/schema/indexes", access: .view) { routed throws(Refusal) in
            let report = try await routed.schema { service, context throws(ServiceError) in
                try await service.schemaIndexes(context)
            }
            return .json(report.encoded())
        },
    ]
}

extension RoutedRequest {
    fileprivate func schema<Answer>(
        _ command: (NephosService, RequestContext) async throws(ServiceError) -> Answer
    ) async throws(Refusal) -> Answer {
        let path = try AdministrationPath(target.components)
        var context = RequestContext(
            container: path.container, environment: path.environment, scope: .public, account: nil,
            requestID: requestID)
        context.isContainerKnown = access.installation != nil
        do throws(ServiceError) {
            return try await command(service, context)
        } catch {
            throw Refusal(error)
        }
    }

    /// Returns the response with a report. A report with errors makes the response a refusal.
    fileprivate func report(
        _ command: (NephosService, RequestContext) async throws(ServiceError) -> SchemaReport
    ) async throws(Refusal) -> HTTPResponse {
        let report = try await schema(command)
        return report.isAllowed
            ? .json(report.encoded()) : .json(report.refusal(requestID: requestID), status: 400)
    }

    fileprivate func message<Message: WireMessage>(_ type: Message.Type) throws(Refusal) -> Message {
        do throws(WireError) {
            return try Message(decoding: request.body)
        } catch {
            throw Refusal(error)
        }
    }

    fileprivate func schemaText() throws(Refusal) -> String {
        guard let text = String(validating: request.body, as: UTF8.self) else {
            throw Refusal(
                .badRequest, "the body is not UTF-8: it is a schema in the CloudKit Schema Language",
                clientCode: .invalidArguments)
        }
        return text
    }
}
