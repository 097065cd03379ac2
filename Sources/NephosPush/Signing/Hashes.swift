import COpenSSL

/// The hash function SHA-256, and functions that are built on it.
enum Hashes {
    private static let size = 32

    static func sha256(_ message: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: size)
        guard EVP_Digest(message, message.count, &digest, nil, EVP_sha256(), nil) == 1 else { return nil }
        return digest
    }

    /// Returns the HMAC-SHA256 of a message (RFC 2104); nil if OpenSSL lacks memory.
    static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: size)
        var count = UInt32(size)
        guard HMAC(EVP_sha256(), key, Int32(clamping: key.count), message, message.count, &digest, &count) != nil else {
            return nil
        }
        return digest
    }
}
