import CFido2
package import NephosService

/// Verifies passkeys by libfido2, which parses all CBOR whose counts fit its bytes.
package struct FidoVerifier: PasskeyVerifier {
    private static let isReady: Void = fido_init(0)

    package init() { Self.isReady }

    package func credential(in authenticatorData: [UInt8]) -> PasskeyCredential? {
        guard Self.hasFittingCounts(authenticatorData, isNew: true) else { return nil }
        // The type is in the data, and libfido2 refuses data of another type than it is told.
        return PasskeyKey.Algorithm.allCases.lazy.compactMap { Self.credential(in: authenticatorData, $0) }.first
    }

    package func counter(
        of assertion: PasskeyAssertion, by key: PasskeyKey, relyingParty: String
    ) -> UInt32? {
        guard !assertion.authenticatorData.isEmpty, !assertion.signature.isEmpty, !assertion.clientData.isEmpty,
            Self.hasFittingCounts(assertion.authenticatorData, isNew: false)
        else { return nil }
        var value = fido_assert_new()
        defer { fido_assert_free(&value) }
        let (data, signature, client) = (assertion.authenticatorData, assertion.signature, assertion.clientData)
        guard let value, fido_assert_set_rp(value, relyingParty) == FIDO_OK,
            fido_assert_set_up(value, FIDO_OPT_TRUE) == FIDO_OK, fido_assert_set_uv(value, FIDO_OPT_TRUE) == FIDO_OK,
            fido_assert_set_clientdata(value, client, client.count) == FIDO_OK,
            fido_assert_set_count(value, 1) == FIDO_OK,
            fido_assert_set_authdata_raw(value, 0, data, data.count) == FIDO_OK,
            fido_assert_set_sig(value, 0, signature, signature.count) == FIDO_OK,
            key.withPointer({ fido_assert_verify(value, 0, key.algorithm.type, $0) }) == FIDO_OK
        else { return nil }
        return fido_assert_sigcount(value, 0)
    }

    /// Checks the CBOR of authenticator data (WebAuthn §6.1): the extensions, and behind the ID of a new passkey its key.
    private static func hasFittingCounts(_ data: [UInt8], isNew: Bool) -> Bool {
        guard isNew else { return CBORCounts.fit(data.dropFirst(fixedSize)) }
        let sizePlace = fixedSize + 16
        guard data.count >= sizePlace + 2 else { return false }
        return CBORCounts.fit(data.dropFirst(sizePlace + 2 + Int(data[sizePlace]) << 8 + Int(data[sizePlace + 1])))
    }

    /// The size of the relying party's hash, the flags and the counter, in bytes.
    private static let fixedSize = 37

    private static func credential(
        in authenticatorData: [UInt8], _ algorithm: PasskeyKey.Algorithm
    ) -> PasskeyCredential? {
        var value = fido_cred_new()
        defer { fido_cred_free(&value) }
        guard let value, fido_cred_set_type(value, algorithm.type) == FIDO_OK,
            fido_cred_set_authdata_raw(value, authenticatorData, authenticatorData.count) == FIDO_OK,
            let id = fido_cred_id_ptr(value), let bytes = fido_cred_pubkey_ptr(value)
        else { return nil }
        let key = PasskeyKey(algorithm, [UInt8](UnsafeBufferPointer(start: bytes, count: fido_cred_pubkey_len(value))))
        guard key.withPointer({ _ in true }) == true else { return nil }
        return PasskeyCredential(
            id: [UInt8](UnsafeBufferPointer(start: id, count: fido_cred_id_len(value))), key: key,
            flags: fido_cred_flags(value), counter: fido_cred_sigcount(value))
    }
}

extension PasskeyKey.Algorithm {
    /// The number of COSE (RFC 8152 §8).
    fileprivate var type: Int32 { Int32(rawValue) }
}

extension PasskeyKey {
    /// Whether the bytes have the size of libfido2's keys, and those of an RSA key a modulus of 2,048 bits and the usual
    /// exponent. libfido2 itself overlooks further bytes.
    private var isWhole: Bool {
        switch algorithm {
        case .es256: bytes.count == 64
        case .edDSA: bytes.count == 32
        case .rs256: bytes.count == 259 && bytes[0] & 0x80 != 0 && bytes.suffix(3) == [1, 0, 1]
        }
    }

    /// Runs `body` with libfido2's form of the key; nil if the bytes are no key of the algorithm.
    fileprivate func withPointer<T>(_ body: (UnsafeRawPointer) -> T) -> T? {
        guard isWhole else { return nil }
        switch algorithm {
        case .es256:
            var key = es256_pk_new()
            defer { es256_pk_free(&key) }
            guard let key, es256_pk_from_ptr(key, bytes, bytes.count) == FIDO_OK else { return nil }
            return body(UnsafeRawPointer(key))
        case .edDSA:
            var key = eddsa_pk_new()
            defer { eddsa_pk_free(&key) }
            guard let key, eddsa_pk_from_ptr(key, bytes, bytes.count) == FIDO_OK else { return nil }
            return body(UnsafeRawPointer(key))
        case .rs256:
            var key = rs256_pk_new()
            defer { rs256_pk_free(&key) }
            guard let key, rs256_pk_from_ptr(key, bytes, bytes.count) == FIDO_OK else { return nil }
            return body(UnsafeRawPointer(key))
        }
    }
}
