import NephosCrypto

/// The public keys of a device.
struct DeviceKeys: Hashable, Sendable {
    /// Ed25519.
    var signing: [UInt8]
    /// X25519.
    var box: [UInt8]
}

/// An entry of an account's list of devices. Each is signed by a device that is on the list before it, the first by the
/// device that it names, and has the hash of the one before.
struct DeviceListEntry: Hashable, Sendable {
    enum Change: String, Hashable, Sendable {
        case add
        case revoke
        /// The recovery key, which may sign as a device does.
        case recovery
    }

    /// From 0.
    var number: Int64
    /// `ContentHash` of the entry before; of the first, nothing.
    var previous: [UInt8]
    var change: Change
    var device: DeviceKeys
    /// The account key from this entry on.
    var accountKeyVersion: Int64
    var accountKey: [UInt8]
    /// Whose signature it has, a signing key.
    var author: [UInt8]

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

    /// The entry as it is stored. The pair's public key is the author.
    func signed(by pair: SigningKeyPair, in place: KeyPlace) -> [UInt8] {
        let bytes = unsigned(place)
        return bytes + pair.signature(of: bytes)
    }

    /// Nil where the bytes are no entry of this place's, or the signature is not the author's.
    init?(_ bytes: [UInt8], in place: KeyPlace) {
        let message = Array(bytes.dropLast(SigningKeyPair.signatureSize))
        let head = Self.context(place).bytes
        guard message.starts(with: head) else { return nil }
        var reader = ContextReader(message.dropFirst(head.count))
        guard let number = reader.number(), let previous = reader.value(), let name = reader.value(),
            let change = Change(rawValue: String(decoding: name, as: UTF8.self)), let signing = reader.value(),
            let box = reader.value(), let version = reader.number(), let accountKey = reader.value(),
            let author = reader.value(), reader.isAtEnd,
            SigningKeyPair.isValid(Array(bytes.suffix(SigningKeyPair.signatureSize)), of: message, by: author)
        else { return nil }
        self.init(
            number: number, previous: previous, change: change, device: DeviceKeys(signing: signing, box: box),
            accountKeyVersion: version, accountKey: accountKey, author: author)
    }

    init(
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

/// What a `SealContext` has, one value after another.
struct ContextReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func value() -> [UInt8]? {
        guard rest.count >= 4 else { return nil }
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= rest.count - 4 else { return nil }
        defer { rest = rest.dropFirst(4 + count) }
        return Array(rest.dropFirst(4).prefix(count))
    }

    mutating func number() -> Int64? {
        guard let bytes = value(), bytes.count == 8 else { return nil }
        return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// An account's devices, as far as their list proves them.
struct DeviceList: Hashable, Sendable {
    private(set) var count: Int64 = 0
    /// Of the last entry.
    private(set) var hash: [UInt8] = []
    /// Of every entry.
    private(set) var hashes: [[UInt8]] = []
    private(set) var devices: [DeviceKeys] = []
    /// Every device that ever was on the list: what it signed while it was stays good.
    private(set) var formerSigners: Set<[UInt8]> = []
    private(set) var recoveryKeys: [DeviceKeys] = []
    private(set) var accountKeyVersion: Int64 = 0
    private(set) var accountKey: [UInt8] = []

    init() {}

    /// Nil where an entry does not follow from those before it.
    init?(_ entries: [[UInt8]], in place: KeyPlace) {
        for entry in entries {
            guard append(entry, in: place) else { return nil }
        }
    }

    func mayAuthor(_ signingKey: [UInt8]) -> Bool {
        (devices + recoveryKeys).contains { $0.signing == signingKey }
    }

    /// Whether a device signed when it was on the list.
    func knowsSigner(_ signingKey: [UInt8]) -> Bool { formerSigners.contains(signingKey) }

    private mutating func append(_ bytes: [UInt8], in place: KeyPlace) -> Bool {
        guard let entry = DeviceListEntry(bytes, in: place), entry.number == count, entry.previous == hash,
            count == 0
                ? entry.author == entry.device.signing && entry.change == .add && entry.accountKeyVersion == 1
                : mayAuthor(entry.author),
            entry.accountKeyVersion == accountKeyVersion
                ? entry.accountKey == accountKey : entry.accountKeyVersion == accountKeyVersion + 1
        else { return false }
        switch entry.change {
        case .add:
            guard !formerSigners.contains(entry.device.signing) else { return false }
            devices.append(entry.device)
        case .recovery:
            recoveryKeys = [entry.device]
        case .revoke:
            guard devices.contains(entry.device) else { return false }
            devices.removeAll { $0 == entry.device }
        }
        formerSigners.insert(entry.device.signing)
        accountKeyVersion = entry.accountKeyVersion
        accountKey = entry.accountKey
        count += 1
        hash = ContentHash.of(bytes)
        hashes.append(hash)
        return true
    }
}
