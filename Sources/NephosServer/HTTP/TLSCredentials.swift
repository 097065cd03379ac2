import CGnuTLS
package import FoundationEssentials

/// The reason why a certificate and a key cannot be used. It names the file.
package struct TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A certificate with the chain of its issuers, and its private key. A value exists only if the parts belong together.
///
/// `@unchecked`: `native` is written by the initializer only, and GnuTLS lets threads share credentials that do not
/// change.
package final class TLSCredentials: @unchecked Sendable {
    /// The protocols and ciphers, in GnuTLS's notation: TLS 1.2 and 1.3 with authenticated ciphers and forward secrecy
    /// (RFC 9325 §4.2).
    static let priorities =
        "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA"
        + ":-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD"
        + ":-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE"

    /// The DNS names and IP addresses for which the certificate is valid. A name may begin with `*.`.
    package let names: [String]
    /// The time until which clients refuse the certificate, and the time from which on they refuse it.
    package let start: Date
    package let expiry: Date
    /// The number of bits of a public key that is too short for clients, such as 1024 for RSA; nil for a sufficient one.
    let shortKeyBits: UInt32?
    private let native: gnutls_certificate_credentials_t

    /// Reads both files.
    package static func read(certificateFile: String, keyFile: String) throws(TLSFailure) -> TLSCredentials {
        try TLSCredentials(
            certificateChainPEM: contents(of: certificateFile), keyPEM: contents(of: keyFile),
            certificateName: certificateFile, keyName: keyFile)
    }

    /// - Parameters:
    ///   - certificateChainPEM: the server's certificate, and then that of each issuer but the root.
    ///   - certificateName: what failures call the certificate: its file.
    ///   - keyName: what failures call the key: its file.
    /// - Throws: `TLSFailure` if one of them is damaged, or the key is not that of the certificate. An expired
    ///   certificate is accepted.
    package init(
        certificateChainPEM: [UInt8], keyPEM: [UInt8], certificateName: String = "the certificate",
        keyName: String = "the key"
    ) throws(TLSFailure) {
        let chain = try CertificateChain(pem: certificateChainPEM, certificateName)
        let key = try PrivateKey(pem: keyPEM, keyName)
        var made: gnutls_certificate_credentials_t?
        guard gnutls_certificate_allocate_credentials(&made) == GNUTLS_E_SUCCESS, let made else {
            throw TLSFailure("there is no memory for \(certificateName)")
        }
        let code = gnutls_certificate_set_x509_key(made, chain.certificates, chain.count, key.native)
        guard code >= 0 else {
            gnutls_certificate_free_credentials(made)
            throw code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH
                ? TLSFailure("the key in \(keyName) is not that of the certificate in \(certificateName)")
                : TLSFailure("\(certificateName) and \(keyName) cannot be used: \(Self.message(code))")
        }
        native = made
        names = chain.names
        (start, expiry) = (chain.start, chain.expiry)
        shortKeyBits = chain.shortKeyBits
    }

    deinit { gnutls_certificate_free_credentials(native) }

    /// The reason why all clients of a host refuse the certificate at a time; nil for none.
    package func refusal(for host: String, at time: Date = Date()) -> String? {
        if time >= expiry { return "the certificate expired on \(expiry): clients refuse it" }
        if time < start { return "the certificate is valid from \(start) on: clients refuse it until then" }
        return isFor(host) ? nil : "the certificate is not for \(host), the host of --url: clients refuse it"
    }

    /// The reasons for which clients of a host refuse the certificate.
    package func problems(for host: String) -> [String] {
        var problems = refusal(for: host).map { [$0] } ?? []
        if let shortKeyBits {
            problems.append(
                "the certificate's key has \(shortKeyBits) bits: many clients refuse it, have one of 2048 (RSA) or 256 (EC) made"
            )
        }
        return problems
    }

    /// Whether the certificate is valid for a host. `*` stands for one label of a name (RFC 9525 §6.3).
    package func isFor(_ host: String) -> Bool {
        let host = host.lowercased()
        return names.contains { name in
            let name = name.lowercased()
            return name == host || name.hasPrefix("*.") && host.drop { $0 != "." } == name.dropFirst()
        }
    }

    /// Has a session use these credentials. Called before its handshake. The session must not outlive the value.
    func apply(to session: OpaquePointer) {
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(native))
    }

    static func message(_ code: Int32) -> String {
        gnutls_strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }

    private static func contents(of file: String) throws(TLSFailure) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(filePath: file)))
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            throw TLSFailure("\(file) does not exist")
        } catch let error as CocoaError where error.code == .fileReadNoPermission {
            throw TLSFailure("the server may not read \(file)")
        } catch {
            throw TLSFailure("\(file) cannot be read: \(error)")
        }
    }
}

/// The certificates of a PEM file, the server's first.
private final class CertificateChain {
    let certificates: UnsafeMutablePointer<gnutls_x509_crt_t?>
    let count: Int32

    init(pem: [UInt8], _ name: String) throws(TLSFailure) {
        var list: UnsafeMutablePointer<gnutls_x509_crt_t?>?
        var size: UInt32 = 0
        let flags = GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED.rawValue
        let code = withDatum(pem) { gnutls_x509_crt_list_import2(&list, &size, $0, GNUTLS_X509_FMT_PEM, flags) }
        guard code >= 0, let list, size > 0 else { throw Self.failure(code, pem, name) }
        certificates = list
        count = Int32(size)
    }

    deinit {
        for place in 0..<Int(count) { gnutls_x509_crt_deinit(certificates[place]) }
        nephos_gnutls_free(certificates)
    }

    private static func failure(_ code: Int32, _ pem: [UInt8], _ name: String) -> TLSFailure {
        if code == GNUTLS_E_CERTIFICATE_LIST_UNSORTED {
            return TLSFailure(
                "the certificates in \(name) are not in order: the server's is first, and each one's issuer next")
        }
        guard String(decoding: pem, as: UTF8.self).contains("CERTIFICATE-----") else {
            return TLSFailure("\(name) has no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----")
        }
        return TLSFailure("the certificate in \(name) is damaged: \(TLSCredentials.message(code))")
    }

    var start: Date {
        Date(timeIntervalSince1970: Double(gnutls_x509_crt_get_activation_time(certificates[0])))
    }

    var expiry: Date { Date(timeIntervalSince1970: Double(gnutls_x509_crt_get_expiration_time(certificates[0]))) }

    /// The bits of the server's public key; nil from 112 bits of security on, which are 2048 of RSA (RFC 9325 §4.5).
    var shortKeyBits: UInt32? {
        var bits: UInt32 = 0
        let algorithm = gnutls_x509_crt_get_pk_algorithm(certificates[0], &bits)
        guard algorithm >= 0 else { return nil }
        let security = gnutls_pk_bits_to_sec_param(gnutls_pk_algorithm_t(UInt32(algorithm)), bits)
        return security.rawValue < GNUTLS_SEC_PARAM_MEDIUM.rawValue ? bits : nil
    }

    /// The subject alternative names; without any, the common name of the subject.
    var names: [String] {
        var names: [String] = []
        var place: UInt32 = 0
        while let (kind, bytes) = alternativeName(place) {
            switch kind {
            case Int32(GNUTLS_SAN_DNSNAME.rawValue): names.append(String(decoding: bytes, as: UTF8.self))
            case Int32(GNUTLS_SAN_IPADDRESS.rawValue): if let address = IPAddress(bytes) { names.append("\(address)") }
            default: break
            }
            place += 1
        }
        return names.isEmpty ? [commonName].compactMap(\.self) : names
    }

    private func alternativeName(_ place: UInt32) -> (kind: Int32, bytes: [UInt8])? {
        var bytes = [UInt8](repeating: 0, count: 1024)
        var size = bytes.count
        let kind = gnutls_x509_crt_get_subject_alt_name(certificates[0], place, &bytes, &size, nil)
        // A name that is too long is an empty name of no kind.
        if kind == GNUTLS_E_SHORT_MEMORY_BUFFER { return (kind, []) }
        return kind >= 0 ? (kind, Array(bytes.prefix(size))) : nil
    }

    private var commonName: String? {
        var bytes = [UInt8](repeating: 0, count: 1024)
        var size = bytes.count
        let code = gnutls_x509_crt_get_dn_by_oid(certificates[0], "2.5.4.3", 0, 0, &bytes, &size)
        return code >= 0 ? String(decoding: bytes.prefix(size), as: UTF8.self) : nil
    }
}

/// A private key of a PEM file.
private final class PrivateKey {
    let native: gnutls_x509_privkey_t

    init(pem: [UInt8], _ name: String) throws(TLSFailure) {
        var made: gnutls_x509_privkey_t?
        guard gnutls_x509_privkey_init(&made) == GNUTLS_E_SUCCESS, let made else {
            throw TLSFailure("there is no memory for \(name)")
        }
        let code = withDatum(pem) { gnutls_x509_privkey_import2(made, $0, GNUTLS_X509_FMT_PEM, nil, 0) }
        guard code >= 0 else {
            gnutls_x509_privkey_deinit(made)
            throw Self.failure(code, pem, name)
        }
        native = made
    }

    deinit { gnutls_x509_privkey_deinit(native) }

    private static func failure(_ code: Int32, _ pem: [UInt8], _ name: String) -> TLSFailure {
        if code == GNUTLS_E_DECRYPTION_FAILED {
            return TLSFailure(
                "the key in \(name) is encrypted: write it without a password, readable for the server alone")
        }
        guard String(decoding: pem, as: UTF8.self).contains("PRIVATE KEY-----") else {
            return TLSFailure("\(name) has no private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----")
        }
        return TLSFailure("the key in \(name) is damaged: \(TLSCredentials.message(code))")
    }
}

private func withDatum<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<gnutls_datum_t>) -> Result) -> Result {
    var bytes = bytes
    return bytes.withUnsafeMutableBufferPointer { buffer in
        var datum = gnutls_datum_t(data: buffer.baseAddress, size: UInt32(buffer.count))
        return body(&datum)
    }
}
