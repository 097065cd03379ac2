import Foundation
import NephosCrypto
import NephosWire

/// An account's devices, for `nephos keys`: enrolled devices, and devices that await approval.
package struct AccountDevices: Sendable {
    /// The reason why an action failed.
    package struct Failure: Error, CustomStringConvertible, Sendable {
        package var description: String
        /// The failure of the service or of the connection to it; nil if the request itself is invalid.
        var cause: ServiceFailure?

        init(description: String, cause: ServiceFailure? = nil) {
            self.description = description
            self.cause = cause
        }
    }

    package struct Device: Hashable, Sendable {
        /// The name of the device: a prefix of the hash of its public keys.
        package var name: String
        package var isThis: Bool
    }

    let service: any CloudService
    let container: String

    /// - Parameter environment: the address of the service, and the credentials of the account.
    package init(container: String, _ environment: CloudKitEnvironment) {
        self.init(environment.service(of: container), container: container)
    }

    init(_ service: any CloudService, container: String) {
        self.service = service
        self.container = container
    }

    // MARK: The list

    /// Returns the devices on the account's list, in the order of their enrolment.
    package func list() async throws(Failure) -> [Device] {
        let device = try await device()
        let own = DeviceKeys(signing: device.signing.publicKey, box: device.box.publicKey)
        return device.list.devices.map { Device(name: $0.name, isThis: $0 == own) }
    }

    /// Returns the code by which another device approves this one; nil if this device is enrolled.
    package func code() async throws(Failure) -> String? {
        let enrolment = enrolment
        do throws(KeyFailure) {
            _ = try await enrolment.device()
            return nil
        } catch {
            guard let code = try await stored().code.flatMap({ CarriedSecret(code: [UInt8]($0)) }) else {
                throw Self.failure(error)
            }
            return code.text
        }
    }

    // MARK: Changes

    /// Enrols the device that has this code, and hands the account's keys to it.
    package func approve(_ text: String) async throws(Failure) {
        guard let secret = CarriedSecret(text: text), !secret.isRecoveryKey else {
            throw Failure(
                description: "'\(text)' is not a device's code: it has 16 digits, as 'nephos keys code' prints them")
        }
        try await append { (device, answer) throws(Failure) in
            guard let message = answer.messages.first(where: { $0.id == secret.id(device.place) }),
                let keys = secret.device(message, device.place)
            else { throw Failure(description: "no device of the account waits with that code") }
            guard !device.list.knowsSigner(keys.signing) else {
                throw Failure(
                    description: device.list.isListed(keys.signing)
                        ? "the device with that code was approved already"
                        : "the device with that code was revoked: 'nephos keys code' on it makes new keys and a code")
            }
            let bytes = device.list.entry(.add, keys, by: device.signing, in: device.place)
            return EnrollRequest(
                position: device.list.count, entry: bytes, boxes: Self.boxes(device.accountKeys, for: [keys]),
                message: secret.reply(ContentHash.of(bytes), device.place))
        }
    }

    /// Revokes a device. Its later signatures are invalid, and the account key is rotated.
    package func revoke(_ name: String) async throws(Failure) {
        try await append { (device, _) throws(Failure) in
            guard let keys = device.list.devices.first(where: { $0.name == name }) else {
                throw Failure(description: "no device on the list is '\(name)': see 'nephos keys list'")
            }
            guard keys.signing != device.signing.publicKey else {
                throw Failure(description: "this is the device '\(name)' itself: revoke it from another one")
            }
            let next = BoxKeyPair.random()
            let entry = device.list.entry(
                .revoke, keys, accountKey: next.publicKey, by: device.signing, in: device.place)
            let staying = device.list.devices.filter { $0 != keys } + device.list.recoveryKeys
            return EnrollRequest(
                position: device.list.count, entry: entry,
                boxes: Self.boxes([device.list.accountKeyVersion + 1: next], for: staying))
        }
    }

    /// Makes a recovery key, which replaces any earlier one. The returned text is its only copy.
    ///
    /// Rotates the account key if it replaces a recovery key: the replaced one does not open the next account key.
    package func makeRecoveryKey() async throws(Failure) -> String {
        let secret = CarriedSecret.recoveryKey()
        try await append { (device, _) throws(Failure) in
            guard let signing = secret.signing(device.place), let box = secret.box(device.place) else {
                throw Failure(description: "the recovery key cannot be made")
            }
            let keys = DeviceKeys(signing: signing.publicKey, box: box.publicKey)
            let next = device.list.recoveryKeys.isEmpty ? nil : BoxKeyPair.random()
            let bytes = device.list.entry(
                .recovery, keys, accountKey: next?.publicKey, by: device.signing, in: device.place)
            var boxes = Self.boxes(device.accountKeys, for: [keys])
            if let next {
                boxes += Self.boxes([device.list.accountKeyVersion + 1: next], for: device.list.devices + [keys])
            }
            return EnrollRequest(
                position: device.list.count, entry: bytes, boxes: boxes,
                message: secret.reply(ContentHash.of(bytes), device.place))
        }
        return secret.text
    }

    /// Enrols this device with the recovery key. A device that is on the list checks the key alone.
    /// - Returns: whether this enrolled the device.
    @discardableResult
    package func recover(_ text: String) async throws(Failure) -> Bool {
        guard let secret = CarriedSecret(text: text), secret.isRecoveryKey else {
            throw Failure(description: "that is not a recovery key: a digit is wrong, or some are missing")
        }
        // This creates and stores the keys of a device that is not enrolled.
        let isEnrolled = (try? await enrolment.device()) != nil
        do throws(ServiceFailure) {
            let (place, kept) = try await enrolment.kept()
            let answer = try await service.send(.accountKeys, EmptyKeysRequest(), KeyRing.call)
            guard var contents = try? kept.update({ $0 }), let list = DeviceList(answer.entries, in: place),
                let signing = secret.signing(place),
                let own = SigningKeyPair(seed: [UInt8](contents.secrets.signingSeed)),
                let box = BoxKeyPair(secretKey: [UInt8](contents.secrets.boxSecretKey)),
                list.recoveryKeys.contains(where: { $0.signing == signing.publicKey }),
                let message = answer.messages.first(where: { $0.id == secret.id(place) }),
                secret.accepts(message, list, place)
            else { throw .transport(.invalidArguments, "the account has another recovery key, or none") }
            let keys = try Self.accountKeys(in: answer, of: list, by: secret, place)
            if isEnrolled { return false }
            let device = DeviceKeys(signing: own.publicKey, box: box.publicKey)
            let entry = list.entry(.add, device, by: signing, in: place)
            let after = try await service.send(
                .enroll, EnrollRequest(position: list.count, entry: entry, boxes: Self.boxes(keys, for: [device])),
                KeyRing.call)
            guard after.entries.contains(entry), let longer = DeviceList(after.entries, in: place) else {
                throw .transport(.internalError, "another device changed the list meanwhile: try again")
            }
            contents.secrets.accountKeys = keys.mapValues { Data($0.secretKey) }
            (contents.code, contents.isRevoked) = (nil, nil)
            contents.listCount = longer.count
            contents.listHash = Data(longer.hash)
            let recovered = contents
            guard (try? kept.update { $0 = recovered }) != nil else {
                throw .transport(.internalError, "the device's keys cannot be written")
            }
            return true
        } catch {
            throw Self.failure(.service(error))
        }
    }

    /// Returns the account's keys that the recovery key opens.
    private static func accountKeys(
        in answer: AccountKeysResponse, of list: DeviceList, by secret: CarriedSecret, _ place: KeyPlace
    ) throws(ServiceFailure) -> [Int64: BoxKeyPair] {
        var keys: [Int64: BoxKeyPair] = [:]
        if let pair = secret.box(place) {
            for sealed in answer.boxes where sealed.device == pair.publicKey {
                keys[sealed.version] = pair.open(sealed.box).flatMap(BoxKeyPair.init(secretKey:))
            }
        }
        guard keys[list.accountKeyVersion]?.publicKey == list.accountKey else {
            throw .transport(.internalError, "the service has not the account's present key for the recovery key")
        }
        return keys
    }

    // MARK: Enrolment

    var enrolment: Enrolment {
        Enrolment(service: service, container: container, environment: service.environmentName.rawValue)
    }

    func device() async throws(Failure) -> DeviceIdentity {
        do throws(KeyFailure) {
            let device = try await enrolment.device()
            guard device.kept != nil else {
                throw .invalid("the service keeps the account's keys, for all its devices: nothing has to be approved")
            }
            return device
        } catch {
            throw Self.failure(error)
        }
    }

    func stored() async throws(Failure) -> KeptKeys.Contents {
        do throws(ServiceFailure) {
            let (_, kept) = try await enrolment.kept()
            guard let contents = try? kept.update({ $0 }) else {
                throw .transport(.internalError, "the device's keys cannot be read")
            }
            return contents
        } catch {
            throw Self.failure(.service(error))
        }
    }

    /// Appends an entry to the device list. If another device has appended an entry first, retries on the longer list.
    private func append(
        _ request: (DeviceIdentity, AccountKeysResponse) throws(Failure) -> EnrollRequest
    ) async throws(Failure) {
        for _ in 1...4 {
            let device = try await device()
            do throws(ServiceFailure) {
                let answer = try await service.send(.accountKeys, EmptyKeysRequest(), KeyRing.call)
                let enroll: EnrollRequest
                do throws(Failure) {
                    enroll = try request(device, answer)
                } catch {
                    throw .transport(.internalError, error.description)
                }
                let after = try await service.send(.enroll, enroll, KeyRing.call)
                if after.entries.contains(enroll.entry) {
                    _ = try? await enrolment.device()
                    return
                }
            } catch {
                throw Self.failure(.service(error))
            }
        }
        throw Failure(description: "other devices change the list all the time: try again")
    }

    private static func boxes(_ keys: [Int64: BoxKeyPair], for devices: [DeviceKeys]) -> [AccountKeyBox] {
        devices.flatMap { device in
            keys.compactMap { version, key in
                BoxKeyPair.seal(key.secretKey, for: device.box).map {
                    AccountKeyBox(device: device.box, version: version, box: $0)
                }
            }
        }
    }

    static func failure(_ error: KeyFailure) -> Failure {
        switch error {
        case .invalid(let reason): Failure(description: reason)
        case .service(let cause):
            switch cause {
            case .refused(let error): Failure(description: error.reason, cause: cause)
            case .transport(_, let message, _): Failure(description: message, cause: cause)
            case .cancelled: Failure(description: "it was given up", cause: cause)
            }
        }
    }
}
