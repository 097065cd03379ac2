import Glibc
import NephosCrypto
import NephosHTTP
import NephosStorage

/// The requests of the S3 protocol that asset files need. All methods block, so callers use threads that may block.
///
/// Each request is signed, and retried a few times after transient failures. All requests are idempotent, because a key
/// is never used again for other content.
package final class ObjectRequests: Sendable {
    private let options: ObjectStorageOptions
    private let client: HTTPClient

    package init(_ options: ObjectStorageOptions) {
        self.options = options
        client = HTTPClient(certificates: options.certificates, requestsAtOnce: 64, connectionsPerHost: 32)
    }

    package func close() { client.close() }

    // MARK: Requests

    /// Checks that the bucket can be accessed.
    /// - Throws: `StorageError` with the answer of the object storage.
    package func check() throws { _ = try list(after: "", under: "", limit: 1) }

    /// Checks that objects can be stored, read and deleted, with an object of a random name.
    /// - Throws: `StorageError` with what failed. The object may remain if it could not be deleted, and is named.
    package func checkWrites() throws {
        let key = "nephos-check-\(SecretToken.randomName())"
        let (content, hash) = (Array(key.utf8), StreamingHash(.sha256))
        hash.update(content)
        do { try put(key, .bytes(content), hash: hash.finish()) } catch {
            // The object may be stored even if the request failed.
            try? delete(key)
            throw error
        }
        let failures = [
            failure {
                guard try get(key, at: 0, count: content.count)?.bytes != content else { return }
                throw StorageError(.inputOutput, "The object \(key) does not read as it was stored")
            },
            failure { try delete(key) },
        ].compactMap(\.self)
        guard failures.isEmpty else { throw StorageError(.inputOutput, failures.joined(separator: "; ")) }
    }

    private func failure(of body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? StorageError)?.message ?? "\(error)" }
        return nil
    }

    /// Stores a file as an object.
    /// - Parameter hash: the SHA-256 hash of the file.
    func put(_ key: String, file: String, hash: [UInt8]) throws { try put(key, .file(path: file), hash: hash) }

    private func put(_ key: String, _ body: HTTPRequestBody, hash: [UInt8]) throws {
        var request = request(.put, key)
        request.body = body
        request.headers += [
            ("Content-Type", "application/octet-stream"), ("x-amz-content-sha256", Hexadecimal.text(hash)),
        ]
        _ = try send(request, while: "storing the object \(key)")
    }

    /// A part of an object, and the object's total size.
    struct Part {
        var bytes: [UInt8]
        var size: Int64
    }

    /// Returns a part of an object; nil if the object does not exist.
    func get(_ key: String, at offset: Int64, count: Int) throws -> Part? {
        var request = request(.get, key)
        request.headers += [("Range", "bytes=\(offset)-\(offset + Int64(count) - 1)"), Self.noBody]
        let action = "reading the object \(key)"
        let answer = try send(request, accepting: [404, 416], while: action)
        switch answer.status {
        case 404: return nil
        case 206:
            guard let size = Self.size(answer.header("Content-Range")) else { break }
            guard answer.body.count == min(Int64(count), max(0, size - offset)) else {
                throw StorageError(.inputOutput, "An answer had not the bytes that were asked for, while \(action)")
            }
            return Part(bytes: answer.body, size: size)
        case 416:
            // The offset is at or after the end of the object. An empty object has no valid range at all.
            return Part(bytes: [], size: Self.size(answer.header("Content-Range")) ?? 0)
        case 200 where offset == 0 && answer.body.count <= count:
            return Part(bytes: answer.body, size: Int64(answer.body.count))
        default: break
        }
        throw StorageError(.inputOutput, "The service does not answer ranges (\(answer.status)), while \(action)")
    }

    /// Deletes an object. Does nothing if the object does not exist.
    func delete(_ key: String) throws {
        var request = request(.delete, key)
        request.headers.append(Self.noBody)
        _ = try send(request, accepting: [404], while: "deleting the object \(key)")
    }

    /// Returns the keys with the prefix `prefix` after `key`, in byte order, and whether there are more.
    func list(after key: String, under prefix: String, limit: Int) throws -> (keys: [String], hasMore: Bool) {
        // Query items are signed in the order in which they are sent, which must be the order of their names.
        var query = ["list-type=2", "max-keys=\(min(max(limit, 1), 1000))"]
        query.append("prefix=\(Self.escaped(prefixed(prefix)))")
        if !key.isEmpty { query.append("start-after=\(Self.escaped(prefixed(key)))") }
        var request = request(.get, nil, query: query.joined(separator: "&"))
        request.headers.append(Self.noBody)
        let answer = try send(request, while: "listing objects")
        let text = String(decoding: answer.body, as: UTF8.self)
        let start = options.prefix.isEmpty ? 0 : options.prefix.utf8.count + 1
        let keys = Self.elements("Key", in: text).map { String(decoding: $0.utf8.dropFirst(start), as: UTF8.self) }
        if let first = keys.first, !key.utf8.lexicographicallyPrecedes(first.utf8) {
            throw StorageError(.inputOutput, "The service lists objects again that it listed before")
        }
        return (keys, Self.elements("IsTruncated", in: text).first == "true")
    }

    // MARK: Shared

    private func prefixed(_ key: String) -> String { options.prefix.isEmpty ? key : "\(options.prefix)/\(key)" }

    private func request(_ method: HTTPRequest.Method, _ key: String?, query: String? = nil) -> HTTPRequest {
        var url = "\(options.endpoint)/\(options.bucket)"
        if let key { url += "/\(prefixed(key))" }
        if let query { url += "?\(query)" }
        var request = HTTPRequest(method, url, isIdempotent: method != .put)
        request.signature = HTTPSignature(
            accessKey: options.accessKey, secretKey: options.secretKey, region: options.region, service: "s3")
        request.silenceLimit = options.limits.silence
        if let token = options.sessionToken { request.headers.append(("x-amz-security-token", token)) }
        return request
    }

    /// - Parameter statuses: the HTTP statuses besides success for which the response is returned.
    private func send(
        _ request: HTTPRequest, accepting statuses: Set<Int> = [], while action: String
    ) throws -> HTTPResponse {
        var wait = options.limits.firstWait
        var attempt = 1
        while true {
            let failure: StorageError
            switch waiting(for: { [client] in await Self.result(client, request) }) {
            case .success(let answer):
                if (200..<300).contains(answer.status) || statuses.contains(answer.status) { return answer }
                failure = StorageError(.inputOutput, "\(Self.explanation(answer)), while \(action)")
                guard answer.status >= 500 || [408, 429].contains(answer.status) else { throw failure }
            case .failure(let error):
                failure = StorageError(
                    error.kind == .closed ? .closed : .inputOutput, "\(error.reason), while \(action)")
                guard [.networkDown, .hostNotFound, .cannotConnect, .silence, .connectionLost].contains(error.kind)
                else { throw failure }
            }
            if attempt == options.limits.attempts { throw failure }
            attempt += 1
            Self.pause(wait * Double.random(in: 0.5...1))
            wait *= 2
        }
    }

    private static func result(_ client: HTTPClient, _ request: HTTPRequest) async -> Result<HTTPResponse, HTTPFailure>
    {
        do throws(HTTPFailure) { return .success(try await client.send(request)) } catch { return .failure(error) }
    }

    private static func pause(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // A signal may end the wait early, which is harmless.
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }

    // MARK: Text

    /// The header with the hash of an empty body.
    private static let noBody = (name: "x-amz-content-sha256", value: Hexadecimal.text(StreamingHash(.sha256).finish()))

    /// Returns the text percent-encoded for signatures: all characters except letters, digits and `-._~`.
    private static func escaped(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(Character(UnicodeScalar(byte)))
            default: result += "%" + Hexadecimal.text([byte]).uppercased()
            }
        }
    }

    /// Returns the total size from `bytes 0-99/1234` or `bytes */1234`; nil for any other text.
    private static func size(_ contentRange: String?) -> Int64? {
        contentRange?.split(separator: "/").last.flatMap { Int64($0) }
    }

    /// Returns the texts between tags with that name. Our own keys need no escapes, so an object whose key needs some
    /// was made by another program.
    private static func elements(_ name: String, in text: String) -> [Substring] {
        var found: [Substring] = []
        var rest = text[...]
        while let start = rest.firstRange(of: "<\(name)>"),
            let end = rest[start.upperBound...].firstRange(of: "</\(name)>")
        {
            found.append(rest[start.upperBound..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        return found
    }

    /// Describes an answer by its status and, if its body has one, its error code, such as `403 SignatureDoesNotMatch`.
    private static func explanation(_ answer: HTTPResponse) -> String {
        let code = elements("Code", in: String(decoding: answer.body.prefix(4096), as: UTF8.self)).first
        return
            "The object storage answered \(answer.status)\(code.map { " \($0.filter(\.isLetter).prefix(60))" } ?? "")"
    }
}
