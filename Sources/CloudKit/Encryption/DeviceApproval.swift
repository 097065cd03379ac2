import Foundation
import NephosCrypto
import NephosWire

/// The enrolment of a device that stores its own keys, on the account's list.
struct DeviceApproval {
    let kept: KeptKeys
    var stored: KeptKeys.Contents
    let list: DeviceList
    let answer: AccountKeysResponse
    let place: KeyPlace
    /// The approval request to be sent; nil unless the device awaits approval and has not sent a request.
    private(set) var request: DeviceMessage?

    init(
        kept: KeptKeys, stored: KeptKeys.Contents, list: DeviceList, answer: AccountKeysResponse, place: KeyPlace
    ) {
        self.kept = kept
        self.stored = stored
        self.list = list
        self.answer = answer
        self.place = place
    }

    /// The identity of the device; nil until the device is on the list and has the current account key.
    var device: DeviceIdentity? { DeviceIdentity(stored.secrets, list, in: place, kept: kept) }

    private var keys: DeviceKeys? {
        guard let signing = SigningKeyPair(seed: [UInt8](stored.secrets.signingSeed)),
            let box = BoxKeyPair(secretKey: [UInt8](stored.secrets.boxSecretKey))
        else { return nil }
        return DeviceKeys(signing: signing.publicKey, box: box.publicKey)
    }

    /// Takes the keys that other devices have sealed for this device. If there are none, sets `request`.
    mutating func take() throws(KeyFailure) {
        if device != nil { return }
        guard let keys else { throw .invalid("its keys are damaged") }
        if list.devices.contains(keys), stored.listCount > 0 {
            // A revocation has rotated the account key.
            return takeAccountKeys(for: keys)
        }
        let code = stored.code.flatMap { CarriedSecret(code: [UInt8]($0)) } ?? .code()
        stored.code = Data(code.bytes)
        let id = code.id(place)
        guard let message = answer.messages.first(where: { $0.id == id }) else {
            request = code.request(keys, place)
            return
        }
        guard list.devices.contains(keys), !message.reply.isEmpty else { return }
        guard code.accepts(message, list, place) else {
            throw .invalid("the service's list of the account's devices is not that of the device that approved it")
        }
        // The account keys that were made with these secrets belong to no account.
        stored.secrets.accountKeys = [:]
        takeAccountKeys(for: keys)
    }

    private mutating func takeAccountKeys(for keys: DeviceKeys) {
        guard let pair = BoxKeyPair(secretKey: [UInt8](stored.secrets.boxSecretKey)) else { return }
        for box in answer.boxes where box.device == keys.box && stored.secrets.accountKeys[box.version] == nil {
            stored.secrets.accountKeys[box.version] = pair.open(box.box).map { Data($0) }
        }
    }
}
