/// The public keys of a device.
package struct DeviceKeys: Hashable, Sendable {
    /// The public key for signatures (Ed25519).
    package var signing: [UInt8]
    /// The public key for boxes (X25519).
    package var box: [UInt8]

    package init(signing: [UInt8], box: [UInt8]) {
        self.signing = signing
        self.box = box
    }

    /// The name of the device for people: ten hexadecimal digits of the hash of its keys.
    package var name: String {
        Hexadecimal.text(ContentHash.of(signing + box).prefix(5))
    }
}

/// An entry of an account's device list. A device that is already on the list signs the entry; the device that the
/// first entry names signs that one. Each entry contains the hash of the previous one (a hash chain).
package struct DeviceListEntry: Hashable, Sendable {
    package enum Change: String, Hashable, Sendable {
        case add
        case revoke
        /// The recovery key, which may sign like a device.
        case recovery
    }

    /// The number of the entry, from 0.
    package var number: Int64
    /// The `ContentHash` of the previous entry; empty in the first entry.
    package var previous: [UInt8]
    package var change: Change
    package var device: DeviceKeys
    /// The version of the account key that is valid from this entry on. The next property is its public half.
    package var accountKeyVersion: Int64
    package var accountKey: [UInt8]
    /// The public signing key of the entry's author.
    package var author: [UInt8]

    private static func context(_ place: KeyPlace) -> SealContext { place.listContext() }

    private func unsigned(_ place: KeyPlace) -> [UInt8] {
        var context = Self.context(place)
        context.append(number)
        context.append(previous)
        context.append(change.rawValue)
        context.append(device.signing)
        context.append(device.box)
        context.append(accountKeyVersion)
        context.append(accountKey)
        context.append(author)
        return context.bytes
    }

    /// Returns the stored form of the entry, signed by `pair`. The public key of the pair becomes the author.
    package func signed(by pair: SigningKeyPair, in place: KeyPlace) -> [UInt8] {
        let bytes = unsigned(place)
        return bytes + pair.signature(of: bytes)
    }

    /// Nil if the bytes are not an entry for this place, or if the author did not sign them.
    /// - Parameter isChecked: whether the signature has already been verified.
    package init?(_ bytes: [UInt8], in place: KeyPlace, isChecked: Bool = false) {
        let message = Array(bytes.dropLast(SigningKeyPair.signatureSize))
        let head = Self.context(place).bytes
        guard message.starts(with: head) else { return nil }
        var reader = ContextReader(message.dropFirst(head.count))
        guard let number = reader.number(), let previous = reader.value(), let name = reader.value(),
            let change = Change(rawValue: String(decoding: name, as: UTF8.self)), let signing = reader.value(),
            let box = reader.value(), let version = reader.number(), let accountKey = reader.value(),
            let author = reader.value(), reader.isAtEnd, signing.count == SigningKeyPair.publicKeySize,
            box.count == BoxKeyPair.publicKeySize, accountKey.count == BoxKeyPair.publicKeySize,
            isChecked
                || SigningKeyPair.isValid(Array(bytes.suffix(SigningKeyPair.signatureSize)), of: message, by: author)
        else { return nil }
        self.init(
            number: number, previous: previous, change: change, device: DeviceKeys(signing: signing, box: box),
            accountKeyVersion: version, accountKey: accountKey, author: author)
    }

    package init(
        number: Int64, previous: [UInt8], change: Change, device: DeviceKeys, accountKeyVersion: Int64,
        accountKey: [UInt8], author: [UInt8]
    ) {
        self.number = number
        self.previous = previous
        self.change = change
        self.device = device
        self.accountKeyVersion = accountKeyVersion
        self.accountKey = accountKey
        self.author = author
    }
}

/// Reads the values of a `SealContext` in order.
package struct ContextReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func value() -> [UInt8]? {
        guard rest.count >= 4 else { return nil }
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= rest.count - 4 else { return nil }
        defer { rest = rest.dropFirst(4 + count) }
        return Array(rest.dropFirst(4).prefix(count))
    }

    package mutating func number() -> Int64? {
        guard let bytes = value(), bytes.count == 8 else { return nil }
        return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// The devices of an account, as its verified device list shows them.
package struct DeviceList: Hashable, Sendable {
    package private(set) var count: Int64 = 0
    /// The hash of the last entry; empty for an empty list.
    package private(set) var hash: [UInt8] = []
    /// The hashes of all entries. The hash of the first entry identifies the account.
    package private(set) var hashes: [[UInt8]] = []
    package private(set) var devices: [DeviceKeys] = []
    package private(set) var recoveryKeys: [DeviceKeys] = []
    package private(set) var accountKeyVersion: Int64 = 0
    package private(set) var accountKey: [UInt8] = []
    /// The range of account key versions during which each device, or recovery key, was on the list, by its signing key.
    private var tenures: [[UInt8]: ClosedRange<Int64>] = [:]
    /// The versions of the account key, by public key.
    private var accountKeyVersions: [[UInt8]: Int64] = [:]

    package init() {}

    /// Nil if an entry does not follow from the entries before it.
    /// - Parameter areChecked: whether the signatures of the entries have already been verified.
    package init?(_ entries: [[UInt8]], in place: KeyPlace, areChecked: Bool = false) {
        for entry in entries {
            guard append(entry, in: place, isChecked: areChecked) else { return nil }
        }
    }

    /// Whether a device or recovery key with this signing key is on the list: its tenure has not ended.
    package func mayAuthor(_ signingKey: [UInt8]) -> Bool { tenures[signingKey]?.upperBound == Int64.max }

    /// Whether the device with this signing key is, or was, on the list.
    package func knowsSigner(_ signingKey: [UInt8]) -> Bool { tenures[signingKey] != nil }

    /// Whether the device with this signing key is on the list.
    package func isListed(_ signingKey: [UInt8]) -> Bool { devices.contains { $0.signing == signingKey } }

    /// Returns the version of the account key with this public half; nil if there is none.
    package func accountKeyVersion(of publicKey: [UInt8]) -> Int64? { accountKeyVersions[publicKey] }

    /// Whether the device with this signing key was on the list at a version of the account key. For later versions,
    /// the signature of a removed device is invalid.
    package func knowsSigner(_ signingKey: [UInt8], ofKeyFor version: Int64) -> Bool {
        tenures[signingKey]?.contains(version) ?? false
    }

    /// Appends an entry. Does nothing if the entry does not follow from the list.
    /// - Returns: whether the entry was appended.
    package mutating func append(_ bytes: [UInt8], in place: KeyPlace, isChecked: Bool = false) -> Bool {
        guard let entry = DeviceListEntry(bytes, in: place, isChecked: isChecked), entry.number == count,
            entry.previous == hash,
            count == 0 ? entry.author == entry.device.signing && entry.change == .add : mayAuthor(entry.author),
            hasNextKey(entry)
        else { return false }
        switch entry.change {
        case .add:
            guard !knowsSigner(entry.device.signing) else { return false }
            devices.append(entry.device)
        case .recovery:
            guard !knowsSigner(entry.device.signing) else { return false }
            for replaced in recoveryKeys { endTenure(of: replaced) }
            recoveryKeys = [entry.device]
        case .revoke:
            guard devices.contains(entry.device) else { return false }
            devices.removeAll { $0 == entry.device }
            endTenure(of: entry.device)
        }
        if entry.change != .revoke { tenures[entry.device.signing] = entry.accountKeyVersion...Int64.max }
        accountKeyVersion = entry.accountKeyVersion
        accountKey = entry.accountKey
        accountKeyVersions[accountKey] = accountKeyVersion
        count += 1
        hash = ContentHash.of(bytes)
        hashes.append(hash)
        return true
    }

    /// Ends the tenure of a device, or of a recovery key, with the current account key.
    private mutating func endTenure(of device: DeviceKeys) {
        guard let tenure = tenures[device.signing] else { return }
        tenures[device.signing] = tenure.lowerBound...accountKeyVersion
    }

    /// Returns an entry that continues the list, signed by `author`.
    /// - Parameter accountKey: the public half of the account's next key, which a revocation needs, and a recovery key that
    ///   replaces another; nil for the present key.
    package func entry(
        _ change: DeviceListEntry.Change, _ device: DeviceKeys, accountKey next: [UInt8]? = nil,
        by author: SigningKeyPair, in place: KeyPlace
    ) -> [UInt8] {
        DeviceListEntry(
            number: count, previous: hash, change: change, device: device,
            accountKeyVersion: accountKeyVersion + (next == nil ? 0 : 1), accountKey: next ?? accountKey,
            author: author.publicKey
        ).signed(by: author, in: place)
    }

    /// Whether the entry has the right account key: the first key in the first entry, the next key in a revocation, and
    /// the current key in an addition. A recovery key that replaces another comes with the next key, and in lists of before
    /// with the current one.
    private func hasNextKey(_ entry: DeviceListEntry) -> Bool {
        let isNext = entry.accountKeyVersion == accountKeyVersion + 1 && accountKeyVersions[entry.accountKey] == nil
        if count == 0 || entry.change == .revoke { return isNext }
        let isCurrent = entry.accountKeyVersion == accountKeyVersion && entry.accountKey == accountKey
        return isCurrent || entry.change == .recovery && !recoveryKeys.isEmpty && isNext
    }
}
