/// An entry of the installation's store, which is one for all containers: an account, a session, a token, a role.
package struct InstallationEntry: Hashable, Sendable {
    package enum Kind: Int64, Hashable, Sendable, CaseIterable {
        /// An account, by its random ID.
        case account = 1
        /// The ID of an account, by the name with which it signs in.
        case accountName = 2
        /// A session, by the hash of its secret.
        case session = 3
        /// A session of an account, by the account's ID and the hash.
        case accountSession = 4
        /// A container, by its identifier.
        case container = 5
        /// An API token, by itself.
        case apiToken = 6
        /// A role of an account, by the account's ID and the container.
        case role = 7
        /// The failed sign-ins from an address or for a name.
        case failedSignIns = 8
        /// A device that signed in, by the account's ID and the hash of the device's secret.
        case knownDevice = 9
        /// An event of the audit that no batch has yet, by its time.
        case audit = 10
        /// The account that a name of `nephos dev` becomes, by the name, while stores are adopted.
        case adoptedName = 11
        /// A batch of the audit, by its number.
        case auditBatch = 12
        /// The number and hash of the last batch of the audit.
        case auditHead = 13
        /// A login of a program that a person approves in a browser, by the hash of the program's secret.
        case login = 14
        /// The login of a code, by the code's hash.
        case loginCode = 15
        /// A server-to-server key, by its ID.
        case serverKey = 16
        /// The account whose person has shown that an address is theirs, by the address.
        case verifiedAddress = 20
        /// What a link in a mail, or one that an administrator made, does; by the hash of its secret.
        case link = 21
        /// A mail that waits to be sent, by the time of its next attempt.
        case queuedMail = 22
        /// The mails that were asked for, to a recipient or from a network, in an hour.
        case mailAllowance = 23
        /// The account of a person whom an identity provider knows, by the hash of the issuer and the subject.
        case identity = 32
        /// A provider's person who is an account, by the account's ID and that hash.
        case accountIdentity = 33
        /// A passkey, by the hash of its credential ID.
        case passkey = 30
        /// The passkeys of an account, by the account's ID.
        case accountPasskeys = 31
        /// A program token, by the hash of its secret.
        case programToken = 34
        /// A program token of an account, by the account's ID and the hash.
        case accountProgramToken = 35
        /// A change of all entries of a kind that was made once, by the change's name.
        case doneUpgrade = 36
        /// A sign-in by a provider that came back, by its random ID: it counts once.
        case usedProviderSignIn = 37
        /// A challenge for a passkey that was used, by its hash.
        case usedChallenge = 39
        /// A signed request that was received, by its request key.
        case claimedRequest = 40
        /// The user of a server-to-server key, by its ID.
        case serverKeyUser = 41
        /// The deletion of an account that has not ended, by the account's ID.
        case begunDeletion = 42
        /// The deletion of a container that has not ended, by the container's identifier.
        case begunContainerDeletion = 43
    }

    package var kind: Kind
    /// The name, unique within the kind. Entries sort by it, byte by byte.
    package var name: String
    /// The encoded content, opaque to the storage layer.
    package var body: [UInt8]
    /// The time in milliseconds since 1970 after which the entry may be purged; 0 for never.
    package var expiresAt: Int64

    package init(kind: Kind, name: String, body: [UInt8] = [], expiresAt: Int64 = 0) {
        self.kind = kind
        self.name = name
        self.body = body
        self.expiresAt = expiresAt
    }
}

extension StoreID {
    /// The installation's store. Requests cannot name it, because its environment is none of a container's.
    package static let installation = StoreID(container: "nephos", environment: "installation")

    package var isInstallation: Bool { self == .installation }
}
