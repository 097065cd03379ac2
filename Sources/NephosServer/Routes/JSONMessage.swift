import FoundationEssentials
import NephosService
import NephosWire

extension RoutedRequest {
    /// Decodes the body of a request of the administration. A missing body is an empty object.
    func message<Message: Decodable>(_ type: Message.Type) throws(Refusal) -> Message {
        do {
            return try JSONDecoder().decode(
                type, from: request.body.isEmpty ? Data("{}".utf8) : Data(request.body))
        } catch DecodingError.keyNotFound(let key, _) {
            throw Refusal(.badRequest, "the request has no '\(key.stringValue)'", clientCode: .invalidArguments)
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw Refusal(
                .badRequest, "'\(path)' of the request has another type", clientCode: .invalidArguments)
        } catch {
            throw Refusal(
                .badRequest, "the body of the request is not JSON that it takes", clientCode: .invalidArguments)
        }
    }

    /// Runs a call of the service, and returns the response with its result in JSON.
    func answer(_ call: () async throws(ServiceError) -> some Encodable) async throws(Refusal) -> HTTPResponse {
        let result: Result<[UInt8], Refusal>
        do throws(ServiceError) {
            let value = try await call()
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            result = (try? encoder.encode(value)).map { .success([UInt8]($0)) } ?? .failure(Refusal(.internalError, ""))
        } catch {
            result = .failure(Refusal(error))
        }
        return .json(try result.get())
    }
}

/// The answer of a call that returns nothing.
struct EmptyAnswer: Encodable {}
