import FoundationEssentials

/// A file of certificates that are trusted instead of the system's.
package enum TrustedCertificates {
    /// Checks that an `HTTPClient` can use a file, before any request is sent.
    /// - Throws: `NotificationSetupError` if the file cannot be read, or contains no certificates in PEM format.
    package static func check(_ file: String) throws(NotificationSetupError) {
        guard let data = try? Data(contentsOf: URL(filePath: file)) else {
            throw NotificationSetupError("the certificates '\(file)' cannot be read")
        }
        guard String(decoding: data, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            throw NotificationSetupError("'\(file)' holds no certificates in PEM")
        }
    }
}
