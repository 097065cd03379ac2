import CCurl

/// One request while libcurl works on it. Only the transfer thread touches it.
final class HTTPTransfer {
    /// Bytes that are kept of an answer's body: it is read for a reason only.
    static let bodyLimit = 16 * 1024
    private static let headerLimit = 64

    let handle: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var response = HTTPResponse(status: 0)

    /// - Throws: `HTTPFailure` if libcurl does not take the request.
    init(_ request: HTTPRequest, certificates: String?) throws(HTTPFailure) {
        guard let handle = curl_easy_init() else { throw HTTPFailure(reason: "libcurl has no memory for a request") }
        self.handle = handle
        try set(CURLOPT_NOSIGNAL, 1)
        // Only ever these two, and the answer of the server that was asked: a redirection is an answer like others.
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Waits for a connection that may take the request as one of many, instead of opening another.
        try set(CURLOPT_PIPEWAIT, 1)
        try set(CURLOPT_TIMEOUT_MS, Int(clamping: request.timeout.wholeMilliseconds))
        try set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(request.timeout.wholeMilliseconds, 10_000)))
        try set(CURLOPT_URL, request.url)
        if let certificates { try set(CURLOPT_CAINFO, certificates) }
        try set(CURLOPT_POST, 1)
        try set(CURLOPT_POSTFIELDSIZE, request.body.count)
        let copied = request.body.withUnsafeBytes { bytes in
            nephos_curl_set_pointer(
                handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
        }
        try check(copied)
        try setHeaders(request.headers)
        try setCallbacks()
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
    }

    /// What came of it, once libcurl says that it is done.
    func finish(_ code: CURLcode) -> Result<HTTPResponse, HTTPFailure> {
        var status = 0
        _ = nephos_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        guard code == CURLE_OK else { return .failure(HTTPFailure(reason: String(cString: curl_easy_strerror(code)))) }
        response.status = status
        return .success(response)
    }

    // MARK: - Options

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPFailure) {
        try check(nephos_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPFailure) {
        try check(nephos_curl_set_string(handle, option, value))
    }

    private func check(_ code: CURLcode) throws(HTTPFailure) {
        guard code == CURLE_OK else { throw HTTPFailure(reason: String(cString: curl_easy_strerror(code))) }
    }

    private func setHeaders(_ headers: [(name: String, value: String)]) throws(HTTPFailure) {
        // An empty "Expect:" keeps libcurl from asking first whether a body is welcome.
        for line in headers.map({ "\($0.name): \($0.value)" }) + ["Expect:"] {
            guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw HTTPFailure(reason: "a header has a control character")
            }
            guard let longer = curl_slist_append(headerList, line) else {
                throw HTTPFailure(reason: "libcurl has no memory for a request")
            }
            headerList = longer
        }
        try check(nephos_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headerList))
    }

    private func setCallbacks() throws(HTTPFailure) {
        // Unretained: the thread holds the transfer for as long as libcurl has its handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(nephos_curl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try check(nephos_curl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try check(
            nephos_curl_set_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                HTTPTransfer.from(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
                return size * count
            })
        try check(
            nephos_curl_set_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                HTTPTransfer.from(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
                return size * count
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
        context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: - What arrives

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) {
        response.body.append(contentsOf: bytes.prefix(Self.bodyLimit - response.body.count))
    }

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) {
        let line = String(decoding: bytes, as: UTF8.self)
        // An interim answer (100, 103) comes before the final one; each begins with its status line.
        if line.hasPrefix("HTTP/") { response.headers = [:] }
        guard response.headers.count < Self.headerLimit, let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return
        }
        let value = line[line.utf8.index(after: colon)...].drop(while: \.isWhitespace)
        response.headers[line[..<colon].lowercased()] = String(value.reversed().drop(while: \.isWhitespace).reversed())
    }
}

extension Duration {
    /// In milliseconds, rounded down.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
