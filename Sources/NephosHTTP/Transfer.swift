import CCurl
import NephosThreads

/// One request while libcurl processes it. Only the transfer thread uses it.
final class Transfer {
    /// A submitted request, with the task that waits for its response.
    struct Submission: Sendable {
        let id: UInt64
        let request: HTTPRequest
        let upload: UploadPipe?
        let download: DownloadPipe?
        let continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>
    }

    /// The easy handle of libcurl.
    let handle: UnsafeMutableRawPointer
    let submission: Submission
    let started: MonotonicTime
    /// The time at which bytes were last sent or received.
    private(set) var lastActivity: MonotonicTime
    /// Whether libcurl has paused the transfer for a stream of the caller.
    private(set) var isPaused = false

    private var source: RequestBodySource?
    private var sink: ResponseBodySink
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var response = HTTPResponse(status: 0)
    private var hasBegun = false
    private var failure: HTTPFailure?
    private var progress = HTTPProgress()
    /// The text of libcurl about a failure; nil without TLS, where the code of the failure says enough.
    private var errorText: ErrorText?

    /// - Parameter handle: an easy handle of libcurl without options.
    /// - Throws: `HTTPFailure` if libcurl refuses the request.
    init(
        _ submission: Submission, handle: UnsafeMutableRawPointer, certificates: String?, now: MonotonicTime
    ) throws(HTTPFailure) {
        self.submission = submission
        self.handle = handle
        started = now
        lastActivity = now
        sink = ResponseBodySink(submission.request.destination, pipe: submission.download)
        source = try RequestBodySource(submission.request.body, pipe: submission.upload)
        try setOptions(certificates)
    }

    deinit {
        curl_slist_free_all(headerList)
    }

    /// The time at which the idle or the total time-out expires, whichever is earlier; nil without a time-out.
    var deadline: (when: MonotonicTime, kind: HTTPFailure.Kind)? {
        let total = submission.request.totalLimit.map { (when: started + $0, kind: HTTPFailure.Kind.totalTime) }
        guard let limit = submission.request.silenceLimit, !isPaused else { return total }
        let silence = (when: lastActivity + limit, kind: HTTPFailure.Kind.silence)
        guard let total, total.when < silence.when else { return silence }
        return total
    }

    /// Resumes the transfer once the caller's stream is ready.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        lastActivity = .now
        curl_easy_pause(handle, CURLPAUSE_CONT)
    }

    /// Returns the outcome after libcurl has reported completion.
    func finish(_ code: CURLcode) -> Result<HTTPResponse, HTTPFailure> {
        guard code == CURLE_OK else {
            var systemError = 0
            _ = nephos_curl_get_long(handle, CURLINFO_OS_ERRNO, &systemError)
            if let failure { return fail(failure) }
            if code == CURLE_COULDNT_CONNECT, let path = submission.request.unixSocket {
                return fail(HTTPFailure(unixSocket: path, Int32(truncatingIfNeeded: systemError)))
            }
            return fail(HTTPFailure(code, systemError: systemError, text: errorText?.text ?? ""))
        }
        if !hasBegun, let failure = begin() { return fail(failure) }
        if let url = nephos_curl_get_string(handle, CURLINFO_REDIRECT_URL) {
            response.redirectURL = String(cString: url)
        }
        response.body = sink.body
        if let failure = sink.end(isWhole: true) { return .failure(failure) }
        return .success(response)
    }

    /// Ends the transfer early.
    func fail(_ failure: HTTPFailure) -> Result<HTTPResponse, HTTPFailure> {
        _ = sink.end(isWhole: false)
        return .failure(failure)
    }

    // MARK: - Options

    private func setOptions(_ certificates: String?) throws(HTTPFailure) {
        let request = submission.request
        try set(CURLOPT_NOSIGNAL, 1)
        // Allows no other protocols. libcurl does not follow redirects, because `HTTPClient` decides whether to follow
        // them.
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // A connection is not used again if the server might be about to close it.
        try set(CURLOPT_MAXAGE_CONN, TransferThread.idleConnectionSeconds)
        try set(CURLOPT_BUFFERSIZE, 64 * 1024)
        try setTrust(request.certificates ?? certificates)
        if let path = request.unixSocket { try setUnixSocket(path) }
        try set(CURLOPT_URL, request.url)
        // A proxy would look for the server on its own machine, and would read the account's token.
        if request.isToThisMachine { try set(CURLOPT_PROXY, "") }
        if let signature = request.signature {
            try set(CURLOPT_AWS_SIGV4, "aws:amz:\(signature.region):\(signature.service)")
            try set(CURLOPT_USERNAME, signature.accessKey)
            try set(CURLOPT_PASSWORD, signature.secretKey)
        }
        try setHeaders(try setBody(request))
        try setCallbacks()
    }

    private func setUnixSocket(_ path: String) throws(HTTPFailure) {
        // An address has room for 108 bytes with a zero.
        guard (1...107).contains(path.utf8.count), !path.utf8.contains(0) else {
            throw HTTPFailure(
                .invalidRequest,
                "\(path) is not the path of a Unix socket: it has \(path.utf8.count) bytes, of which 1 to 107 are allowed"
            )
        }
        try set(CURLOPT_UNIX_SOCKET_PATH, path)
    }

    /// Sets what only TLS needs.
    private func setTrust(_ certificates: String?) throws(HTTPFailure) {
        guard submission.request.url.utf8.prefix(8).elementsEqual("https://".utf8) else { return }
        // Waits for a connection on which requests can be multiplexed, instead of opening another one. Without TLS
        // there is no HTTP/2.
        try set(CURLOPT_PIPEWAIT, 1)
        if let certificates {
            try set(CURLOPT_CAINFO, certificates)
            // libcurl would trust the system's directory of authorities besides.
            try checked(nephos_curl_set_string(handle, CURLOPT_CAPATH, nil))
        }
        let text = ErrorText()
        try checked(nephos_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, text.buffer))
        errorText = text
    }

    /// - Returns: the headers that the body requires.
    private func setBody(_ request: HTTPRequest) throws(HTTPFailure) -> [String] {
        guard source != nil else {
            switch request.method {
            case .get: break
            case .head: try set(CURLOPT_NOBODY, 1)
            case .delete: try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
            case .post, .put:
                source = try RequestBodySource(.bytes([]), pipe: nil)
                return try setBody(request)
            }
            return []
        }
        try set(CURLOPT_POST, 1)
        if request.method != .post { try set(CURLOPT_CUSTOMREQUEST, request.method.rawValue) }
        progress.toSend = source?.length
        // Unless the caller sets a content type, libcurl would send the content type of forms. With "Expect", libcurl
        // would first ask whether the server accepts the body.
        let hasType = request.headers.contains { $0.name.utf8.count == 12 && $0.name.lowercased() == "content-type" }
        // Signed requests omit no header, because libcurl would sign the omitted header as if it were sent. "Expect"
        // lets a server refuse a body before it is sent.
        let isSigned = request.signature != nil
        let headers = isSigned ? [] : hasType ? ["Expect:"] : ["Expect:", "Content-Type:"]
        if request.isIdempotent, case .bytes(let bytes) = request.body {
            try checked(nephos_curl_set_large(handle, CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count)))
            try checked(
                bytes.withUnsafeBytes { bytes in
                    nephos_curl_set_pointer(
                        handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
                })
            return headers
        }
        try checked(nephos_curl_refuse_rewind(handle))
        // libcurl can send an empty body again on another connection without a rewind. Only a new connection prevents
        // that.
        if source?.length == 0 { try set(CURLOPT_FRESH_CONNECT, 1) }
        try checked(nephos_curl_set_large(handle, CURLOPT_POSTFIELDSIZE_LARGE, source?.length ?? -1))
        return source?.length == nil ? headers + ["Transfer-Encoding: chunked"] : headers
    }

    private func setHeaders(_ ofBody: [String]) throws(HTTPFailure) {
        for (name, value) in submission.request.headers { try append("\(name): \(value)") }
        for line in ofBody { try append(line) }
        if headerList != nil { try checked(nephos_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headerList)) }
    }

    private func append(_ line: String) throws(HTTPFailure) {
        guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw HTTPFailure(.invalidRequest, "a header has a control character")
        }
        guard let longer = curl_slist_append(headerList, line) else { throw .noMemory }
        headerList = longer
    }

    private func setCallbacks() throws(HTTPFailure) {
        // Unretained, because the thread retains the transfer while libcurl works on its handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        try checked(nephos_curl_set_pointer(handle, CURLOPT_READDATA, context))
        try checked(nephos_curl_set_pointer(handle, CURLOPT_WRITEDATA, context))
        try checked(nephos_curl_set_pointer(handle, CURLOPT_HEADERDATA, context))
        try checked(
            nephos_curl_set_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
                return Transfer.from(context)?.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
            })
        try checked(
            nephos_curl_set_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                Transfer.from(context)?.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            })
        try checked(
            nephos_curl_set_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                Transfer.from(context)?.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            })
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPFailure) {
        try checked(nephos_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPFailure) {
        try checked(nephos_curl_set_string(handle, option, value))
    }

    private func checked(_ code: CURLcode) throws(HTTPFailure) {
        guard code == CURLE_OK else { throw HTTPFailure(code, systemError: 0) }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: - Bytes

    private func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastActivity = .now
        switch source?.read(into: buffer) {
        case .bytes(let count):
            progress.sent += Int64(count)
            submission.request.progress?(progress)
            return count
        case .end, nil:
            return 0
        case .wait:
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        case .fail(let failure):
            self.failure = failure
            return Int(CURL_READFUNC_ABORT)
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        if !hasBegun, let failure = begin() {
            self.failure = failure
            return 0
        }
        switch sink.write(bytes) {
        case .taken:
            progress.received += Int64(bytes.count)
            submission.request.progress?(progress)
            return bytes.count
        case .wait:
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        case .fail(let failure):
            self.failure = failure
            return 0
        }
    }

    /// Processes the header once it is complete. Returns the failure; nil for none.
    private func begin() -> HTTPFailure? {
        hasBegun = true
        var status = 0
        _ = nephos_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        response.status = status
        progress.toReceive = response.header("Content-Length").flatMap { Int64($0) }
        return sink.begin(isSuccess: (200..<300).contains(status), length: progress.toReceive)
    }

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        // Interim responses (100, 103) precede the final one. Each begins with a status line.
        if bytes.starts(with: "HTTP/".utf8) { response.headerLines = [] }
        response.headerLines.append(contentsOf: bytes)
        return bytes.count
    }
}

/// The memory in which libcurl writes a text about a failure.
private final class ErrorText {
    let buffer: UnsafeMutablePointer<CChar>

    init() {
        buffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        buffer.pointee = 0
    }

    deinit { buffer.deallocate() }

    var text: String { String(cString: buffer) }
}
