import Foundation
import NephosCrypto
import NephosWire

/// Which lists of devices a person trusts: the account's own, and those of the accounts with which it shares.
extension AccountDevices {
    /// An account, as this device knows it.
    package struct Known: Hashable, Sendable {
        /// The account's user record name.
        package var userRecordName: String
        package var isThis: Bool
        /// What is the same on all devices that know the same account; nil where none is known.
        package var code: String?
        /// That of another list of the account's, which waits for a person.
        package var waiting: String?
    }

    /// The accounts that this device knows, its own first. Accounts with the same codes know the same lists.
    /// - Parameter user: the one that is wanted; nil is all.
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

    /// 160 bits of the hash, in base 32: too many for another list with them to be found.
    private static func code(_ hash: [UInt8]) -> String { CarriedSecret.text(Array(hash.prefix(20))) }

    /// Has this device take another account's list that waits for a person, and hands that account what waited for it.
    package func accept(_ user: String) async throws(Failure) {
        let device = try await device()
        guard let kept = device.kept else { return }
        var accepted: KeptKeys.Waiting?
        do throws(KeptKeys.Failure) {
            accepted = try kept.update { contents in
                guard let waiting = contents?.waiting?.removeValue(forKey: user) else { return nil }
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
                try await ring.rotateAndDistributeKeys(KeyRing.GroupName(zone: zone, group: group.group), roots: [])
            } catch {
                // What was shared then may be so no more.
                guard case .service(.refused) = error else { throw Self.failure(error) }
            }
        }
    }

    /// Has this device begin anew with the list that the service shows: as a device that is to be approved, or as the first of
    /// a list. What it kept of the former one stays beside.
    package func acceptOwn() async throws(Failure) {
        do throws(KeyFailure) {
            _ = try await enrolment.device()
            throw .invalid("the list of the account's devices is the one that this device knows")
        } catch {
            guard case .service(.transport(.accountTemporarilyUnavailable, _, retryAfter: nil)) = error else {
                // A device that waits for its approval has nothing to begin anew.
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

    /// Ends the account's list of devices, and all its keys: zones with encrypted values are gone, for every device. This
    /// device is the first of a new list.
    package func reset() async throws(Failure) {
        do throws(ServiceFailure) {
            let answer = try await service.resetKeys(KeyRing.call)
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

    /// New keys for this device. What it knows of others it knows on.
    private func renewKeys() async throws(ServiceFailure) {
        let (_, kept) = try await enrolment.kept()
        do throws(KeptKeys.Failure) {
            try kept.keepFormer()
            try kept.update { contents in
                contents = KeptKeys.Contents(
                    secrets: .random(), pins: contents?.pins, waiting: contents?.waiting)
            }
        } catch {
            throw .transport(.internalError, error.description)
        }
    }
}
