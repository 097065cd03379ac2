import CMicroHTTPD
import NephosService
import NephosWire

extension HTTPRequest {
    /// How the targets of pages begin, which alone have cookies.
    private static let pages = [
        SignInPage.path, AccountPage.path, LoginPage.path, "/\(ShareRoutes.module)/", LinkPage.path,
        MailRequestPage.recovery,
        MailRequestPage.signUp,
    ]

    /// Whether the target is that of a page for people.
    var isOfPage: Bool { Self.pages.contains(where: target.hasPrefix) }

    private static let protocolPath = "/\(DatabasePath.module)/"

    private var isOfProtocol: Bool { target.hasPrefix(Self.protocolPath) }

    /// Reads the headers after they have arrived.
    /// - Returns: the values that the headers announce about the body.
    mutating func readHeaders(_ connection: OpaquePointer, _ options: HTTPServer.Options) -> ExchangeState.Head {
        host = Self.header("Host", connection)
        readAbsoluteTarget()
        problem = problem ?? AmbiguousHeaders(connection).problem
        origin = Self.header("Origin", connection)
        authorization = Self.header("Authorization", connection)
        if let keyID = Self.header("X-Apple-CloudKit-Request-KeyID", connection) {
            signature = SignedRequest(
                keyID: keyID, date: Self.header("X-Apple-CloudKit-Request-ISO8601Date", connection) ?? "",
                signature: Self.header("X-Apple-CloudKit-Request-SignatureV1", connection) ?? "", target: target)
        }
        if options.takesAccessToken { accessToken = Self.header("X-Nephos-Access-Token", connection) }
        if !isOfProtocol { readPageHeaders(connection) }
        fetchSite = Self.header("Sec-Fetch-Site", connection)
        fetchMode = Self.header("Sec-Fetch-Mode", connection)
        takesAdditions = Self.header(AnswerAdditions.header, connection) != nil
        fault = Self.header("X-Nephos-Fault", connection)
        contentEncoding = Self.header("Content-Encoding", connection)
        let length = Self.header("Content-Length", connection).flatMap(Self.length)
        let isTransfer = options.isTransfer(target)
        if isTransfer {
            transfer.contentLength = length.map(Int64.init)
            transfer.range = Self.header("Range", connection)
            transfer.ifRange = Self.header("If-Range", connection)
            transfer.ifNoneMatch = Self.header("If-None-Match", connection)
        }
        return ExchangeState.Head(
            contentLength: length, expectsContinue: Self.header("Expect", connection) != nil,
            isAmbiguous: problem != nil, isStreamed: isTransfer && method == .post,
            isChunked: length == nil && method == .post && Self.header("Transfer-Encoding", connection) != nil,
            isEncoded: contentEncoding != nil)
    }

    /// Reads the headers of pages, files and streams, which requests of CloudKit Web Services do not have.
    private mutating func readPageHeaders(_ connection: OpaquePointer) {
        if isOfPage { cookie = Self.header("Cookie", connection) }
        if target.hasPrefix(WebFiles.path) || target.hasPrefix(CloudKitJS.path + "/") {
            transfer.ifNoneMatch = Self.header("If-None-Match", connection)
            transfer.acceptsGzip = Self.header("Accept-Encoding", connection).map(GzipBody.isAccepted) ?? false
        }
        if StatusRoutes.isStream(target: target) { transfer.lastEventID = Self.header("Last-Event-ID", connection) }
    }

    /// Parses a length in bytes; nil if the text is no number, `.max` if the number overflows, which exceeds every
    /// limit.
    private static func length(_ text: String) -> Int? {
        if let length = Int(text) { return length }
        return text.isEmpty || !text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ? nil : .max
    }

    private static func header(_ name: StaticString, _ connection: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        var size = 0
        let found = name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) {
                MHD_lookup_connection_value_n(connection, .HEADER_KIND, $0.baseAddress, $0.count, &value, &size)
            }
        }
        guard found == .YES, let value else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
    }
}
