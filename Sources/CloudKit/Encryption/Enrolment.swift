import Foundation
import NephosCrypto
import NephosWire

/// Obtains the keys of the account for this device.
struct Enrolment: Sendable {
    let service: any CloudService
    let container: String
    let environment: String

    func device() async throws(KeyFailure) -> DeviceIdentity {
        do throws(ServiceFailure) {
            let owner = try await service.send(.currentUser, KeyRing.call).userRecordName
            let place = KeyPlace(container: container, environment: environment, owner: owner)
            let answer = try await service.send(.accountKeys, EmptyKeysRequest(), KeyRing.call)
            // A remote service that merely claims to escrow keys must not receive them. A list without escrowed keys
            // belongs to devices with keys of their own: they enrolled while the service required approval.
            let isEscrowed = service.mayEscrowKeys && answer.escrows && (answer.escrow != nil || answer.entries.isEmpty)
            return isEscrowed ? try await escrowed(answer, place) : try await listed(answer, place)
        } catch {
            throw .service(error)
        }
    }

    private func kept(_ place: KeyPlace) -> KeptKeys {
        KeptKeys(in: service.keyStore, service: service.keyItemName, place)
    }

    /// Returns the key store of this device.
    func kept() async throws(ServiceFailure) -> (KeyPlace, KeptKeys) {
        let owner = try await service.send(.currentUser, KeyRing.call).userRecordName
        let place = KeyPlace(container: container, environment: environment, owner: owner)
        return (place, kept(place))
    }

    /// Returns the identity of this device from its stored keys. The first device of an account creates the list.
    private func listed(
        _ answer: AccountKeysResponse, _ place: KeyPlace
    ) async throws(ServiceFailure) -> DeviceIdentity {
        let kept = kept(place)
        var answer = answer
        let stored = try contents(kept) { contents in
            if contents == nil { contents = KeptKeys.Contents(secrets: .random()) }
            return contents
        }
        guard let stored else { throw Self.unavailable("The device's keys cannot be kept.") }
        if answer.entries.isEmpty, stored.listCount == 0,
            let entry = DeviceIdentity.firstEntry(stored.secrets, in: place)
        {
            // If another device enrolled first, the answer has the entry of that device.
            answer = try await service.send(.enroll, EnrollRequest(position: 0, entry: entry), KeyRing.call)
        }
        if Int64(answer.entries.count) < stored.listCount {
            // Another process of this device may have stored a longer list since the request.
            answer = try await service.send(.accountKeys, EmptyKeysRequest(), KeyRing.call)
        }
        let list = try Self.list(answer, knownBy: stored, place)
        let present = try present(stored, on: list, kept)
        var approval = DeviceApproval(kept: kept, stored: present, list: list, answer: answer, place: place)
        do throws(KeyFailure) {
            try approval.take()
        } catch {
            if case .invalid(let reason) = error { throw Self.unavailable("The device cannot be approved: \(reason)") }
        }
        guard let device = approval.device else { throw try await requested(approval, kept) }
        let secrets = approval.stored.secrets
        try contents(kept) { contents in
            contents?.secrets = secrets
            contents?.code = nil
            contents?.isRevoked = nil
            contents?.listCount = list.count
            contents?.listHash = Data(list.hash)
        }
        return device
    }

    /// Returns the list of devices of the answer, which extends the list that this device knows.
    private static func list(
        _ answer: AccountKeysResponse, knownBy stored: KeptKeys.Contents, _ place: KeyPlace
    ) throws(ServiceFailure) -> DeviceList {
        guard let list = DeviceList(answer.entries, in: place), list.count >= stored.listCount,
            stored.listCount == 0 || list.hashes[Int(stored.listCount) - 1] == [UInt8](stored.listHash)
        else {
            throw unavailable(
                "The service's list of the account's devices is not the one that this device knows: the keys were reset"
                    + " ('nephos keys accept' begins anew), or it was forked, shortened or replaced")
        }
        return list
    }

    /// Returns the keys with which the device continues: new ones if it was revoked, as the list takes no key twice. With
    /// those it is a device that awaits approval like any other.
    private func present(
        _ stored: KeptKeys.Contents, on list: DeviceList, _ kept: KeptKeys
    ) throws(ServiceFailure) -> KeptKeys.Contents {
        guard let own = SigningKeyPair(seed: [UInt8](stored.secrets.signingSeed))?.publicKey,
            list.knowsSigner(own), !list.isListed(own)
        else { return stored }
        do throws(KeptKeys.Failure) {
            return try kept.renew(stored.secrets)
        } catch {
            throw Self.unavailable(error.description)
        }
    }

    /// Sends the device's request for approval.
    /// - Returns: the failure that requests report until the device is approved.
    private func requested(
        _ approval: DeviceApproval, _ kept: KeptKeys
    ) async throws(ServiceFailure) -> ServiceFailure {
        if let message = approval.request {
            _ = try await service.send(.enroll, EnrollRequest(position: 0, entry: [], message: message), KeyRing.call)
        }
        let code = approval.stored.code
        try contents(kept) { $0?.code = code }
        return .transport(
            .accountTemporarilyUnavailable,
            (approval.stored.isRevoked == true
                ? "This device was revoked. With its new keys it has not been approved"
                : "This device has not been approved")
                + " for the account's encrypted values: run 'nephos keys code' here, and"
                + " 'nephos keys approve', which asks for the code, on a device that has"
                + (approval.list.recoveryKeys.isEmpty ? "" : "; or 'nephos keys recover' here, with the recovery key")
                + (service.mayEscrowKeys && !approval.answer.escrows
                    ? "; if 'nephos dev' kept the account's keys before, restart it without --require-approval" : ""),
            retryAfter: Self.approvalRetryAfter)
    }

    /// The delay in seconds that the failure reports, after which the app retries.
    static let approvalRetryAfter = 5.0

    @discardableResult
    private func contents<Value>(
        _ kept: KeptKeys, _ body: (inout KeptKeys.Contents?) -> Value
    ) throws(ServiceFailure) -> Value {
        do throws(KeptKeys.Failure) {
            return try kept.update(body)
        } catch {
            throw Self.unavailable(error.description)
        }
    }

    private static func unavailable(_ message: String) -> ServiceFailure {
        .transport(.accountTemporarilyUnavailable, message)
    }

    /// Returns the identity of the single device that all stores of an account share when the service escrows its keys.
    private func escrowed(
        _ answer: AccountKeysResponse, _ place: KeyPlace
    ) async throws(ServiceFailure) -> DeviceIdentity {
        var answer = answer
        if answer.entries.isEmpty {
            let secrets = AccountSecrets.random()
            if let entry = DeviceIdentity.firstEntry(secrets, in: place) {
                // If another device enrolled first, the answer has the entry of that device.
                answer = try await service.send(
                    .enroll, EnrollRequest(position: 0, entry: entry, escrow: secrets.encoded()), KeyRing.call)
            }
        }
        guard let list = DeviceList(answer.entries, in: place), let escrow = answer.escrow,
            let secrets = AccountSecrets(decoding: escrow), let device = DeviceIdentity(secrets, list, in: place)
        else {
            throw .transport(
                .accountTemporarilyUnavailable,
                "The keys that the service keeps for the account's devices are not the account's.")
        }
        return device
    }
}
