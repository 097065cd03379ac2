import NephosService
import NephosWire

/// The routes that upload and download files. Their URLs carry the authorisation, so no account is needed. At a
/// production server an upload ends with the session that asked for its URL.
enum AssetRoutes {
    static let table: [Route] = [
        Route([.post], AssetPath.upload, access: .url) { routed throws(Refusal) in try await upload(routed) },
        Route([.get], AssetPath.download, access: .url) { routed throws(Refusal) in try await download(routed) },
    ]

    // MARK: Upload

    private static func upload(_ routed: RoutedRequest) async throws(Refusal) -> HTTPResponse {
        let path = try AssetPath(routed.target.components)
        guard let stream = routed.request.stream else { throw .noHandler }
        guard let installation = routed.access.installation else { return try await receive(stream, path, routed) }
        let result: Result<HTTPResponse, Refusal>
        do throws(ServiceError) {
            let session = try await routed.service.session(
                ofUpload: path.token, container: path.container, path.environment, requestID: routed.requestID)
            if let session {
                // The session is checked before the body is read.
                result = try await installation.whileLive(session) { _ in
                    await withTaskCancellationHandler {
                        await received(stream, path, routed)
                    } onCancel: {
                        stream.fail(.isCut)
                    }
                }
            } else {
                result = await received(stream, path, routed)
            }
        } catch {
            throw Refusal(error)
        }
        return try result.get()
    }

    private static func received(
        _ stream: BodyStream, _ path: AssetPath, _ routed: RoutedRequest
    ) async -> Result<HTTPResponse, Refusal> {
        do throws(Refusal) { return .success(try await receive(stream, path, routed)) } catch { return .failure(error) }
    }

    private static func receive(
        _ stream: BodyStream, _ path: AssetPath, _ routed: RoutedRequest
    ) async throws(Refusal) -> HTTPResponse {
        if let encoding = routed.request.contentEncoding, encoding.lowercased() != "identity" {
            throw Refusal(.badRequest, "a file is stored as it is sent: it cannot have a Content-Encoding")
        }
        do {
            let upload = try await routed.service.beginUpload(
                path.token, size: routed.request.transfer.contentLength, container: path.container, path.environment,
                requestID: routed.requestID)
            // One piece is hashed and written while the next piece arrives.
            var next = try await RequestTiming.waiting { try await stream.next() }
            while let piece = next {
                async let stored: Void = upload.append(piece)
                next = try await RequestTiming.waiting { try await stream.next() }
                try await stored
            }
            return .message(try await upload.finish())
        } catch let error as ServiceError {
            throw Refusal(transfer: error)
        } catch BodyStream.Failure.isTooSlow {
            throw Refusal(ServiceError.uploadTooSlow)
        } catch {
            // The client has disconnected.
            throw Refusal(.badRequest, "the file did not arrive whole")
        }
    }

    // MARK: Download

    private static func download(_ routed: RoutedRequest) async throws(Refusal) -> HTTPResponse {
        let path = try AssetPath(routed.target.components)
        let asset: DownloadedAsset
        do throws(ServiceError) {
            asset = try await routed.service.openAsset(
                path.content, path.token, container: path.container, path.environment, requestID: routed.requestID)
        } catch {
            throw Refusal(error)
        }
        let tag = "\"\(asset.content)\""
        let transfer = routed.request.transfer
        if let condition = transfer.ifNoneMatch, EntityTag.matches(tag, anyOf: condition) {
            return HTTPResponse(status: 304, headers: cacheHeaders(tag))
        }
        // Only GET defines ranges (RFC 9110 §14.2).
        let range = routed.request.method == .get ? transfer.range : nil
        switch ByteRange.requested(range, ifRange: transfer.ifRange, tag: tag, size: asset.size) {
        case .whole:
            return file(asset, 0, asset.size, status: 200, cacheHeaders(tag))
        case .part(let offset, let length):
            let part = HTTPHeader("Content-Range", "bytes \(offset)-\(offset + length - 1)/\(asset.size)")
            return file(asset, offset, length, status: 206, cacheHeaders(tag) + [part])
        case .unsatisfiable:
            var refusal = Refusal(.badRequest, "the file has no such range: it has \(asset.size) bytes")
            refusal.status = 416
            refusal.headers = [HTTPHeader("Content-Range", "bytes */\(asset.size)")]
            throw refusal
        }
    }

    private static func file(
        _ asset: DownloadedAsset, _ offset: Int64, _ length: Int64, status: Int, _ headers: [HTTPHeader]
    ) -> HTTPResponse {
        var response = HTTPResponse(
            status: status,
            headers: [
                HTTPHeader("Content-Type", "application/octet-stream"),
                HTTPHeader("Accept-Ranges", "bytes"),
            ] + headers + foreignContent)
        response.stream = ResponseStream(asset, offset: offset, length: length)
        response.account = asset.account
        return response
    }

    /// Returns the caching headers. The content of a file never changes, and its URL is valid for an hour.
    private static func cacheHeaders(_ tag: String) -> [HTTPHeader] {
        [HTTPHeader("ETag", tag), HTTPHeader("Cache-Control", "private, max-age=3600, immutable")]
    }

    /// The headers for a file's content, which is untrusted: they keep browsers from rendering it as a page of this
    /// service.
    private static let foreignContent = [
        HTTPHeader("X-Content-Type-Options", "nosniff"),
        HTTPHeader("Content-Disposition", "attachment"),
        HTTPHeader("Content-Security-Policy", "sandbox"),
    ]
}

extension DownloadedAsset: StreamedBody {}

extension Refusal {
    /// Converts an error of a file's transfer. A file that exceeds the limit is refused with the HTTP status for that.
    fileprivate init(transfer error: ServiceError) {
        self.init(error)
        if error.clientCode == .limitExceeded { status = 413 }
    }
}
