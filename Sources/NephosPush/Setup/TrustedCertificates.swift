import FoundationEssentials

/// A file of certificates to trust instead of the system's.
package enum TrustedCertificates {
    /// Checks whether an `HTTPClient` can use a file, before anything is sent.
    /// - Throws: `NotificationSetupError` for a file that cannot be read, and for one without certificates in PEM.
    package static func check(_ file: String) throws(NotificationSetupError) {
        guard let data = try? Data(contentsOf: URL(filePath: file)) else {
            throw NotificationSetupError("the certificates '\(file)' cannot be read")
        }
        guard String(decoding: data, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            throw NotificationSetupError("'\(file)' holds no certificates in PEM")
        }
    }
}
