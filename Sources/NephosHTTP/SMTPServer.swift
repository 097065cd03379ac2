import CCurl

/// A server that takes mails (RFC 5321), and how it is called.
package struct SMTPServer: Sendable {
    /// The URL `smtps://HOST:PORT`, with TLS from the start, or `smtp://HOST:PORT`.
    package var url: String
    /// Whether the server must offer STARTTLS; if not, `smtp` is without TLS.
    package var requiresTLS: Bool
    package var user: String?
    package var password: String?
    /// The name with which this machine introduces itself.
    package var ownName: String
    /// The path of a file of PEM certificates that are trusted instead of the system's; nil for the system's.
    package var certificates: String?
    /// The maximum time in milliseconds that a mail takes.
    package var timeout: Int

    package init(
        url: String, requiresTLS: Bool, user: String? = nil, password: String? = nil, ownName: String,
        certificates: String? = nil, timeout: Int
    ) {
        (self.url, self.requiresTLS, self.user, self.password) = (url, requiresTLS, user, password)
        (self.ownName, self.certificates, self.timeout) = (ownName, certificates, timeout)
    }

    /// Sends a mail. Blocks, so that only a thread that may block calls it.
    /// - Parameters:
    ///   - message: the whole mail, with lines that end with CR LF.
    ///   - sender: the address to which failures are reported. Both addresses are without spaces, brackets and control
    ///     characters.
    /// - Throws: `SMTPFailure`.
    package func send(_ message: [UInt8], from sender: String, to recipient: String) throws(SMTPFailure) {
        guard CurlSockets.isCurlReady, let handle = curl_easy_init() else { throw .noMemory }
        defer { curl_easy_cleanup(handle) }
        guard let recipients = curl_slist_append(nil, "<\(recipient)>") else { throw .noMemory }
        defer { curl_slist_free_all(recipients) }
        guard setOptions(handle, sender, recipients) else { throw .noMemory }
        var source = MailSource(bytes: message)
        let result = withUnsafeMutablePointer(to: &source) { source in
            _ = nephos_curl_set_pointer(handle, CURLOPT_READDATA, source)
            return curl_easy_perform(handle)
        }
        guard result != CURLE_OK else { return }
        var status = 0
        _ = nephos_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        throw SMTPFailure(result, status: status)
    }

    /// - Returns: false if libcurl refuses an option.
    private func setOptions(
        _ handle: UnsafeMutableRawPointer, _ sender: String, _ recipients: UnsafeMutablePointer<curl_slist>
    ) -> Bool {
        var texts: [(CURLoption, String)] = [
            (CURLOPT_PROTOCOLS_STR, "smtp,smtps"), (CURLOPT_URL, "\(url)/\(ownName)"),
            (CURLOPT_MAIL_FROM, "<\(sender)>"),
        ]
        if let user { texts.append((CURLOPT_USERNAME, user)) }
        if let password { texts.append((CURLOPT_PASSWORD, password)) }
        if let certificates { texts.append((CURLOPT_CAINFO, certificates)) }
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_UPLOAD, 1), (CURLOPT_TIMEOUT_MS, timeout),
            (CURLOPT_USE_SSL, Int(requiresTLS ? CURLUSESSL_ALL.rawValue : CURLUSESSL_NONE.rawValue)),
        ]
        return texts.allSatisfy { nephos_curl_set_string(handle, $0, $1) == CURLE_OK }
            && numbers.allSatisfy { nephos_curl_set_long(handle, $0, $1) == CURLE_OK }
            && nephos_curl_set_pointer(handle, CURLOPT_MAIL_RCPT, recipients) == CURLE_OK
            && nephos_curl_set_callback(handle, CURLOPT_READFUNCTION, MailSource.read) == CURLE_OK
    }
}

/// What is left of a mail to send.
private struct MailSource {
    var bytes: [UInt8]
    var offset = 0

    static let read: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
        buffer, size, count, context in
        guard let buffer, let source = context?.assumingMemoryBound(to: MailSource.self) else { return 0 }
        let piece = source.pointee.bytes[source.pointee.offset...].prefix(size * count)
        for (index, byte) in piece.enumerated() { buffer[index] = CChar(bitPattern: byte) }
        source.pointee.offset += piece.count
        return piece.count
    }
}

/// The failure of a mail. The reason contains neither addresses nor what the server wrote.
package struct SMTPFailure: Error, Hashable, Sendable {
    package var reason: String
    /// The last reply's code; 0 without one.
    package var status: Int
    /// Whether the server refuses this mail for good (RFC 5321 §4.2.1).
    package var isPermanent: Bool

    static let noMemory = SMTPFailure(reason: "libcurl has no memory for a mail", status: 0, isPermanent: false)

    private init(reason: String, status: Int, isPermanent: Bool) {
        (self.reason, self.status, self.isPermanent) = (reason, status, isPermanent)
    }

    init(_ result: CURLcode, status: Int) {
        let isRefused = result == CURLE_SEND_ERROR || result == CURLE_WEIRD_SERVER_REPLY
        let code = (100...599).contains(status) ? status : 0
        let text =
            switch result {
            case CURLE_USE_SSL_FAILED: "the mail server offers no TLS"
            case CURLE_LOGIN_DENIED: "the mail server refuses the user or the password"
            case _ where isRefused && code > 0: "the mail server refuses it"
            default: String(cString: curl_easy_strerror(result))
            }
        // A refused sign-in is a matter of the settings, which can be corrected.
        self.init(
            reason: code > 0 ? "\(text) (\(code))" : text, status: code,
            isPermanent: isRefused && (500...599).contains(code))
    }
}
