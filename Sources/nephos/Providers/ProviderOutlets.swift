import NephosHTTP
import NephosService
import Synchronization

extension ProviderOutlet {
    /// Reaches no provider, to check settings.
    static let none = ProviderOutlet { _ async throws(ProviderFailure) in throw .unreachable("there is no outlet") }

    /// Reaches providers over connections of their own, a few at a time.
    static func https() -> ProviderOutlet {
        let client = HTTPClient(requestsAtOnce: 32, connectionsPerHost: 4)
        return ProviderOutlet { request async throws(ProviderFailure) in
            let body = Mutex<[UInt8]>([])
            var message = HTTPRequest(request.form == nil ? .get : .post, request.url.text)
            message.headers = [("Accept", "application/json")]
            if let authorization = request.authorization { message.headers.append(("Authorization", authorization)) }
            if let form = request.form {
                message.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
                message.body = .bytes(Array(form.utf8))
            }
            message.totalLimit = .milliseconds(Limits.providerTimeout)
            message.certificates = request.certificates
            message.destination = .chunks { chunk in
                try body.withLock { body in
                    body += chunk
                    guard body.count <= Limits.providerAnswerSize else { throw LongAnswer() }
                }
            }
            do throws(HTTPFailure) {
                let status = try await client.send(message).status
                return (status, body.withLock { $0 })
            } catch {
                if error.underlying is LongAnswer { throw ProviderFailure.refused("the provider's answer is too long") }
                throw ProviderFailure.unreachable(error.reason)
            }
        }
    }

    private struct LongAnswer: Error {}
}
