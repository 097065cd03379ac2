import NephosCrypto
import NephosWire

/// A zone's key in all its versions.
struct ZoneKeys: Sendable {
    private(set) var keys: [Int64: SealKey] = [:]
    private(set) var current: Int64 = 0

    /// Why a zone's keys cannot be had.
    struct Invalid: Error, Hashable, Sendable {
        var reason: String
    }

    /// Opens what the service keeps.
    init(_ wrapped: [WrappedGroupKey], of zone: ZonePlace, _ device: DeviceIdentity) throws(Invalid) {
        for (index, key) in wrapped.enumerated() {
            guard key.version == Int64(index) + 1 else {
                throw Invalid(reason: "the service left out a version of the zone's key")
            }
            guard device.list.knowsSigner(key.signer),
                SigningKeyPair.isValid(key.signature, of: zone.signedBytes(key), by: key.signer)
            else {
                throw Invalid(reason: "version \(key.version) of the zone's key is not of a device of the owner's")
            }
        }
        guard let last = wrapped.last else { return }
        guard let pair = device.accountKeys.values.first(where: { $0.publicKey == last.recipient }),
            let opened = pair.open(last.box).flatMap(SealKey.init)
        else { throw Invalid(reason: "version \(last.version) of the zone's key is not for this account") }
        current = last.version
        keys[current] = opened
        var key = opened
        for wrapped in wrapped.reversed() where wrapped.version > 1 {
            let context = zone.previousKeyContext(version: wrapped.version)
            guard wrapped.previous.first == RecordKey.format,
                let previous = key.open(wrapped.previous.dropFirst(), context: context).flatMap(SealKey.init)
            else {
                throw Invalid(reason: "version \(wrapped.version) of the zone's key does not open the one before")
            }
            keys[wrapped.version - 1] = previous
            key = previous
        }
    }

    var isEmpty: Bool { keys.isEmpty }

    /// The next version, to be handed to the service.
    func next(for zone: ZonePlace, _ device: DeviceIdentity) -> WrappedGroupKey? {
        guard let recipient = device.accountKey?.publicKey else { return nil }
        let key = SealKey.random()
        guard let box = BoxKeyPair.seal(key.bytes, for: recipient) else { return nil }
        let version = current + 1
        let previous = keys[current].map {
            key.seal($0.bytes, context: zone.previousKeyContext(version: version), header: [RecordKey.format])
        }
        var wrapped = WrappedGroupKey(
            version: version, recipient: recipient, box: box, previous: previous ?? [],
            signer: device.signing.publicKey, signature: [])
        wrapped.signature = device.signing.signature(of: zone.signedBytes(wrapped))
        return wrapped
    }
}
