import NephosCrypto

/// The public key of a passkey.
package struct PasskeyKey: Hashable, Sendable {
    /// The algorithms of keys, by their numbers (COSE, RFC 8152 §8).
    package enum Algorithm: Int, Codable, Sendable, CaseIterable {
        case es256 = -7
        case edDSA = -8
        case rs256 = -257
    }

    package var algorithm: Algorithm
    /// The key in the verifier's form.
    package var bytes: [UInt8]

    package init(_ algorithm: Algorithm, _ bytes: [UInt8]) { (self.algorithm, self.bytes) = (algorithm, bytes) }
}

/// The credential that an authenticator made, as its data has it. Nothing of it is verified: without attestation the
/// authenticator signs nothing.
package struct PasskeyCredential: Hashable, Sendable {
    package var id: [UInt8]
    package var key: PasskeyKey
    /// The flags of the authenticator data (Web Authentication §6.1).
    package var flags: UInt8
    package var counter: UInt32

    package init(id: [UInt8], key: PasskeyKey, flags: UInt8, counter: UInt32) {
        (self.id, self.key, self.flags, self.counter) = (id, key, flags, counter)
    }
}

/// What an authenticator signed to sign a person in.
package struct PasskeyAssertion: Hashable, Sendable {
    /// The client data, in JSON.
    package var clientData: [UInt8]
    package var authenticatorData: [UInt8]
    package var signature: [UInt8]

    package init(clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
        (self.clientData, self.authenticatorData, self.signature) = (clientData, authenticatorData, signature)
    }

    /// Takes the parts in base64url. A text that is none is an empty part, which verifies nothing.
    package init(clientData: String, authenticatorData: String, signature: String) {
        self.clientData = Base64URL.bytes(of: clientData) ?? []
        self.authenticatorData = Base64URL.bytes(of: authenticatorData) ?? []
        self.signature = Base64URL.bytes(of: signature) ?? []
    }
}

/// Reads and verifies what authenticators make (Web Authentication §6). Its functions block, as signatures take time.
package protocol PasskeyVerifier: Sendable {
    /// Returns the credential in the data of an authenticator; nil for data that cannot be read, or whose key is of no
    /// known algorithm, too short or not on its curve.
    func credential(in authenticatorData: [UInt8]) -> PasskeyCredential?

    /// Returns the signature counter of an assertion; nil unless the key signed it, for the relying party, with the person
    /// present and verified.
    func counter(of assertion: PasskeyAssertion, by key: PasskeyKey, relyingParty: String) -> UInt32?
}
