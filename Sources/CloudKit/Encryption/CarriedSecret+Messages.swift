import NephosCrypto
import NephosWire

/// The messages between devices that share the secret.
extension CarriedSecret {
    /// Returns the approval request of a device, sealed under this secret.
    func request(_ device: DeviceKeys, _ place: KeyPlace) -> DeviceMessage? {
        let sealed = key(place)?.seal(
            device.signing + device.box, context: place.requestContext(), header: [RecordKey.format])
        return sealed.map { DeviceMessage(id: id(place), request: $0) }
    }

    /// Returns the device of a request; nil if the request was not sealed under this secret.
    func device(_ message: DeviceMessage, _ place: KeyPlace) -> DeviceKeys? {
        guard message.request.first == RecordKey.format,
            let keys = key(place)?.open(message.request.dropFirst(), context: place.requestContext()), keys.count == 64
        else { return nil }
        return DeviceKeys(signing: Array(keys.prefix(32)), box: Array(keys.suffix(32)))
    }

    /// Returns the reply that names the account's list: the hash of an entry, sealed under this secret.
    func reply(_ hash: [UInt8], _ place: KeyPlace) -> DeviceMessage? {
        sealedReply(hash, place).map { DeviceMessage(id: id(place), reply: $0) }
    }

    /// Whether the reply was sealed under this secret and names this list.
    func accepts(_ message: DeviceMessage, _ list: DeviceList, _ place: KeyPlace) -> Bool {
        guard message.reply.first == RecordKey.format,
            let hash = key(place)?.open(message.reply.dropFirst(), context: place.replyContext())
        else { return false }
        return list.hashes.contains(hash)
    }
}
