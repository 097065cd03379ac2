import FoundationEssentials
import Glibc

/// A file of the certificates of authorities, in PEM.
package enum CertificateFile {
    /// Returns the reason why the file cannot be used; nil if each of its certificates is whole.
    package static func problem(_ path: String) -> String? {
        let text: String
        switch read(path) {
        case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .failure(let failure): return "it cannot be read: \(failure.reason)"
        }
        var count = 0
        var lines = text.split(whereSeparator: \.isNewline)[...]
        while let begin = lines.firstIndex(where: isBegin) {
            count += 1
            lines = lines[(begin + 1)...]
            guard let end = lines.firstIndex(where: { $0.hasPrefix("-----") }), lines[end].hasPrefix("-----END"),
                isCertificate(lines[..<end].joined())
            else { return "its certificate \(count) is not whole" }
        }
        return count == 0 ? "it has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----" : nil
    }

    /// The labels under which OpenSSL finds certificates.
    private static func isBegin(_ line: Substring) -> Bool {
        ["", "TRUSTED ", "X509 "].contains { line.hasPrefix("-----BEGIN \($0)CERTIFICATE-----") }
    }

    /// Whether the text in base64 begins with a DER sequence that is complete.
    private static func isCertificate(_ text: String) -> Bool {
        guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else { return false }
        let bytes = [UInt8](data)
        // The length of a certificate takes several bytes, whose number the second byte has.
        guard bytes.count > 4, bytes[0] == 0x30, (0x81...0x84).contains(bytes[1]) else { return false }
        let digits = Int(bytes[1] & 0x7F)
        let length = bytes[2...].prefix(digits).reduce(0) { $0 << 8 | Int($1) }
        return bytes.count >= 2 + digits + length
    }

    /// The maximum size of the file in bytes. The system's authorities take a quarter of a megabyte.
    private static let limit = 16 << 20

    private static func read(_ path: String) -> Result<[UInt8], HTTPFailure> {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return .failure(reason(errno)) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= limit {
            let count = Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return .failure(reason(errno)) }
            if count == 0 { return .success(bytes) }
            bytes += piece[..<count]
        }
        return .failure(HTTPFailure(.body, "it has more than \(limit >> 20) megabytes"))
    }

    private static func reason(_ code: Int32) -> HTTPFailure {
        HTTPFailure(.body, String(cString: strerror(code)))
    }
}
