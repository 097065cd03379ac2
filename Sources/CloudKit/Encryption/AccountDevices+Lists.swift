import Foundation
import NephosCrypto
import NephosWire

/// The device lists that a person trusts: the list of the account itself, and the lists of accounts with which the
/// account shares.
extension AccountDevices {
    /// An account whose device list this device has seen.
    package struct Known: Hashable, Sendable {
        /// The account's user record name.
        package var userRecordName: String
        package var isThis: Bool
        /// The code by which people compare the account's device list; nil if this device trusts no list of the
        /// account. The code is the same on all devices that trust the same list.
        package var code: String?
        /// The comparison code of a different list of the account, which awaits a person's decision; nil if there is
        /// none.
        package var waiting: String?
    }

    /// Returns the accounts whose lists this device has seen, its own account first. Equal codes mean equal lists.
    /// - Parameter user: the user record name of the account to return; nil returns all accounts.
    package func compare(_ user: String? = nil) async throws(Failure) -> [Known] {
        let device = try await device()
        let stored = try await stored()
        var known = [
            Known(userRecordName: device.place.owner, isThis: true, code: device.list.hashes.first.map(Self.code))
        ]
        let others = Set((stored.pins ?? [:]).keys).union((stored.waiting ?? [:]).keys)
        for other in others.sorted() {
            known.append(
                Known(
                    userRecordName: other, isThis: false,
                    code: stored.pins?[other]?.first.map { Self.code([UInt8]($0)) },
                    waiting: stored.waiting?[other]?.pin.first.map { Self.code([UInt8]($0)) }))
        }
        guard let user else { return known }
        guard let found = known.first(where: { $0.userRecordName == user }) else {
            throw Failure(description: "this device knows no account '\(user)': see 'nephos keys compare'")
        }
        return [found]
    }

    /// Returns 160 bits of the hash in base 32. That is enough to make a second preimage infeasible.
    private static func code(_ hash: [UInt8]) -> String { CarriedSecret.text(Array(hash.prefix(20))) }

    /// Trusts the device list of another account that awaits a decision. Then hands that account the group keys that
    /// waited for the decision, and signs that it takes part. A group waits until its key is handed out, so a repetition
    /// continues after a failure.
    package func accept(_ user: String) async throws(Failure) {
        let device = try await device()
        guard let kept = device.kept else { return }
        var accepted: KeptKeys.Waiting?
        do throws(KeptKeys.Failure) {
            accepted = try kept.update { contents in
                guard let waiting = contents?.waiting?[user] else { return nil }
                var pins = contents?.pins ?? [:]
                pins[user] = waiting.pin
                contents?.pins = pins
                return waiting
            }
        } catch {
            throw Failure(description: error.description)
        }
        guard let accepted else {
            throw Failure(description: "no list of '\(user)' waits: see 'nephos keys compare'")
        }
        let ring = KeyRing(service, container: container)
        for group in accepted.groups {
            let zone = KeyZone(owner: group.owner, name: group.zoneName)
            do throws(KeyFailure) {
                try await ring.rotateAndDistributeKeys(
                    KeyRing.GroupName(zone: zone, group: group.group), roots: [], accepted: user)
            } catch {
                // The account may have left the share meanwhile, so a refusal is no failure.
                guard case .service(.refused) = error else { throw Self.failure(error) }
            }
            kept.endWaiting(group, of: user, accepted: accepted.pin)
        }
        kept.endWaiting(nil, of: user, accepted: accepted.pin)
    }

    /// Enrols this device again, on the list that the service shows: as a device that awaits approval, or as the first
    /// device of a new list. The keys for the former list stay in a backup item.
    package func acceptOwn() async throws(Failure) {
        do throws(KeyFailure) {
            _ = try await enrolment.device()
            throw .invalid("the list of the account's devices is the one that this device knows")
        } catch {
            guard case .service(.transport(.accountTemporarilyUnavailable, _, retryAfter: nil)) = error else {
                // A device that awaits approval cannot enrol again.
                throw Self.failure(error)
            }
        }
        try await beginAnew()
        do throws(KeyFailure) {
            _ = try await enrolment.device()
        } catch {
            guard case .service(.transport(.accountTemporarilyUnavailable, _, retryAfter: .some)) = error else {
                throw Self.failure(error)
            }
        }
    }

    /// Ends the device list of the account and all its keys. Every device then loses access to the zones with encrypted
    /// values. This device becomes the first device of a new list.
    package func reset() async throws(Failure) {
        do throws(ServiceFailure) {
            let answer = try await service.send(.resetKeys, EmptyKeysRequest(), KeyRing.call)
            if !(service.mayEscrowKeys && answer.escrows) { try await renewKeys() }
        } catch {
            throw Self.failure(.service(error))
        }
        do throws(KeyFailure) {
            _ = try await enrolment.device()
        } catch {
            throw Self.failure(error)
        }
    }

    private func beginAnew() async throws(Failure) {
        do throws(ServiceFailure) {
            try await renewKeys()
        } catch {
            throw Self.failure(.service(error))
        }
    }

    /// Replaces the keys of this device. The pins of other accounts' lists stay.
    private func renewKeys() async throws(ServiceFailure) {
        let (_, kept) = try await enrolment.kept()
        do throws(KeptKeys.Failure) {
            try kept.renew()
        } catch {
            throw .transport(.internalError, error.description)
        }
    }
}
