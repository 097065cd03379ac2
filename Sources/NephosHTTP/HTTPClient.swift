import Synchronization

/// Sends requests over libcurl's multi interface, on a thread of its own that ends with the client. Many requests run
/// concurrently, over keep-alive connections. Over TLS, HTTP/2 is used if the server offers it, and many requests then
/// share a connection.
///
/// Proxies are those of the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`). There are no cookies,
/// no cache and no stored credentials.
package final class HTTPClient: Sendable {
    private let transfers: TransferThread
    private let lastID = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - certificates: the path of a file of PEM certificates that are trusted instead of the system's; nil for the
    ///     system's.
    ///   - requestsAtOnce: the maximum number of concurrent requests per client. Further requests are queued.
    ///   - connectionsPerHost: the maximum number of connections per server.
    package init(certificates: String? = nil, requestsAtOnce: Int = 256, connectionsPerHost: Int = 8) {
        transfers = TransferThread(
            TransferThread.Options(
                certificates: certificates, requestsAtOnce: requestsAtOnce, connectionsPerHost: connectionsPerHost))
    }

    deinit { transfers.close() }

    /// Fails all running requests and all later ones.
    package func close() {
        transfers.close()
    }

    /// Sends the request, and waits for the response with its body.
    /// - Throws: `HTTPFailure` if no complete response arrives. A response may have any status.
    package func send(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
        var request = request
        var response = try await sendOnce(request)
        while let next = request.redirected(by: response) {
            request = next
            response = try await sendOnce(request)
        }
        return response
    }

    private func sendOnce(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPResponse {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let result =
            if request.hasStream {
                await stream(request, id)
            } else {
                await exchange(request, id, nil, nil)
            }
        return try result.get()
    }

    /// Sends a request whose bodies are streamed by closures of the caller.
    private func stream(_ request: HTTPRequest, _ id: UInt64) async -> Result<HTTPResponse, HTTPFailure> {
        let resume: @Sendable () -> Void = { [transfers] in transfers.resume(id) }
        var filling: Task<Void, Never>?
        var upload: UploadPipe?
        if case .chunks(_, let next) = request.body {
            let pipe = UploadPipe(resume: resume)
            upload = pipe
            filling = Task { await pipe.fill(from: next) }
        }
        guard case .chunks(let receive) = request.destination else {
            let result = await exchange(request, id, upload, nil)
            filling?.cancel()
            await filling?.value
            return result
        }
        let download = DownloadPipe(resume: resume)
        async let answer = exchange(request, id, upload, download)
        var failure: HTTPFailure?
        while let bytes = await download.next() {
            do {
                try await receive(bytes)
            } catch {
                failure = HTTPFailure(.body, "the receiver of the answer's body failed: \(error)", underlying: error)
                download.close()
                transfers.cancel(id)
                break
            }
        }
        let result = await answer
        filling?.cancel()
        await filling?.value
        return failure.map { .failure($0) } ?? result
    }

    private func exchange(
        _ request: HTTPRequest, _ id: UInt64, _ upload: UploadPipe?, _ download: DownloadPipe?
    ) async -> Result<HTTPResponse, HTTPFailure> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfers.submit(
                    Transfer.Submission(
                        id: id, request: request, upload: upload, download: download, continuation: continuation))
                // The cancellation handler may have run before there was a transfer to cancel.
                if Task.isCancelled { transfers.cancel(id) }
            }
        } onCancel: {
            transfers.cancel(id)
        }
    }
}

extension HTTPRequest {
    fileprivate var hasStream: Bool {
        if case .chunks = body { return true }
        if case .chunks = destination { return true }
        return false
    }
}
