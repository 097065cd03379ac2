import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// The validity of keys that a malicious service shows.
@Suite struct GroupProofTests {
    private static let place = KeyPlace(container: "c", environment: "development", owner: "_owner")
    private static let group = GroupPlace(zone: ZonePlace(account: place, zoneName: "Z"), group: "share")

    /// An account's devices, of which the first makes the list.
    private struct Account {
        var secrets = AccountSecrets.random()
        var entries: [[UInt8]]
        let place: KeyPlace

        init(_ owner: String = "_owner") throws {
            place = KeyPlace(container: "c", environment: "development", owner: owner)
            entries = [try #require(DeviceIdentity.firstEntry(secrets, in: place))]
        }

        var list: DeviceList { DeviceList(entries, in: place) ?? DeviceList() }
        var signing: SigningKeyPair { SigningKeyPair(seed: [UInt8](secrets.signingSeed)) ?? .random() }

        /// The first device, with the account's keys.
        func device() throws -> DeviceIdentity { try #require(DeviceIdentity(secrets, list, in: place)) }

        /// Puts a device on the list, or takes it off it.
        mutating func append(_ change: DeviceListEntry.Change, _ pair: SigningKeyPair, _ box: BoxKeyPair) {
            let list = list
            var (version, key) = (list.accountKeyVersion, list.accountKey)
            if change == .revoke {
                let next = BoxKeyPair.random()
                version += 1
                key = next.publicKey
                secrets.accountKeys[version] = Data(next.secretKey)
            }
            entries.append(
                DeviceListEntry(
                    number: list.count, previous: list.hash, change: change,
                    device: DeviceKeys(signing: pair.publicKey, box: box.publicKey), accountKeyVersion: version,
                    accountKey: key, author: signing.publicKey
                ).signed(by: signing, in: place))
        }
    }

    private func proof(_ owner: DeviceList, signers: [DeviceList] = []) -> GroupProof {
        GroupProof(group: Self.group, owner: owner, own: owner, signers: signers, isOwn: true)
    }

    /// A version over a key that the signer knows.
    private func wrapped(
        _ version: Int64, _ key: SealKey, after previous: SealKey?, for recipient: [UInt8], by pair: SigningKeyPair,
        administrators: [[UInt8]] = []
    ) throws -> WrappedGroupKey {
        let box = try #require(BoxKeyPair.seal(key.bytes, for: recipient))
        let context = Self.group.previousKeyContext(version: version)
        var wrapped = WrappedGroupKey(
            version: version, recipient: recipient, box: box,
            previous: previous.map { key.seal($0.bytes, context: context, header: [1]) } ?? [],
            signer: pair.publicKey, signature: [])
        wrapped.administrators = administrators
        wrapped.signature = pair.signature(of: Self.group.signedBytes(wrapped))
        return wrapped
    }

    @Test func `a replaced recovery key signs no key for a later account key`() throws {
        var account = try Account()
        let (replaced, removed) = (SigningKeyPair.random(), SigningKeyPair.random())
        let box = BoxKeyPair.random()
        account.append(.add, removed, box)
        account.append(.recovery, replaced, box)
        let former = account.list.accountKey
        account.append(.recovery, .random(), .random())
        account.append(.revoke, removed, box)
        let keys = (0..<2).map { _ in SealKey.random() }
        let first = try wrapped(1, keys[0], after: nil, for: former, by: replaced)
        let proof = proof(account.list)
        #expect(try GroupKeys(KeysResponse(group: [first]), proof, try account.device()).keys[1] == keys[0])
        let next = try wrapped(2, keys[1], after: keys[0], for: account.list.accountKey, by: replaced)
        #expect(throws: GroupKeys.Invalid.self) {
            try GroupKeys(KeysResponse(group: [first, next]), proof, try account.device())
        }
    }

    @Test func `a removed device makes no later account key, nor a key that follows one`() throws {
        var account = try Account()
        let (lost, box) = (SigningKeyPair.random(), BoxKeyPair.random())
        account.append(.add, lost, box)
        let keys = (0..<3).map { _ in SealKey.random() }
        let oldKey = account.list.accountKey
        let first = try wrapped(1, keys[0], after: nil, for: oldKey, by: lost)
        account.append(.revoke, lost, box)
        let (device, newKey) = (try account.device(), account.list.accountKey)
        let proof = proof(account.list)
        #expect(
            try GroupKeys(KeysResponse(group: [first]), proof, device).keys[1] == keys[0], "what it made stays good")
        let own = try wrapped(2, keys[1], after: keys[0], for: newKey, by: account.signing)
        #expect(try GroupKeys(KeysResponse(group: [first, own]), proof, device).current == 2)
        for bad in [
            [first, try wrapped(2, keys[1], after: keys[0], for: newKey, by: lost)],
            [first, own, try wrapped(3, keys[2], after: keys[1], for: oldKey, by: lost)],
            [try wrapped(1, keys[0], after: nil, for: box.publicKey, by: lost)],
            [first, try wrapped(2, keys[1], after: keys[0], for: newKey, by: .random())],
        ] {
            #expect(throws: GroupKeys.Invalid.self) { try GroupKeys(KeysResponse(group: bad), proof, device) }
        }
    }

    @Test func `an administrator's key is valid from the owner's device that names it to the next that does not`()
        throws
    {
        let (account, admin) = (try Account(), try Account("_admin"))
        let keys = (0..<4).map { _ in SealKey.random() }
        let (device, recipient) = (try account.device(), account.list.accountKey)
        let proof = proof(account.list, signers: [admin.list])
        func open(_ wrapped: [WrappedGroupKey]) throws -> GroupKeys {
            try GroupKeys(KeysResponse(group: wrapped), proof, device)
        }
        let unnamed = try wrapped(1, keys[0], after: nil, for: recipient, by: account.signing)
        let named = try wrapped(
            1, keys[0], after: nil, for: recipient, by: account.signing, administrators: [admin.list.hashes[0]])
        let theirs = try wrapped(2, keys[1], after: keys[0], for: recipient, by: admin.signing)
        let ended = try wrapped(3, keys[2], after: keys[1], for: recipient, by: account.signing)
        let late = try wrapped(4, keys[3], after: keys[2], for: recipient, by: admin.signing)
        #expect(try open([named, theirs]).current == 2)
        #expect(try open([named, theirs, ended]).keys.count == 3, "what it made while it was one stays good")
        #expect(throws: GroupKeys.Invalid.self) { try open([unnamed, theirs]) }
        #expect(throws: GroupKeys.Invalid.self) { try open([named, theirs, ended, late]) }
        // It names no administrator.
        let more = try wrapped(
            2, keys[1], after: keys[0], for: recipient, by: admin.signing, administrators: [admin.list.hashes[0]])
        #expect(throws: GroupKeys.Invalid.self) { try open([named, more]) }
        // Without its list the signing device's account is unknown.
        let blind = self.proof(account.list)
        #expect(throws: GroupKeys.Invalid.self) { try GroupKeys(KeysResponse(group: [named, theirs]), blind, device) }
    }

    @Test func `a forged chain has no version of the owner's, and a fork of it opens nothing`() throws {
        let (account, stranger) = (try Account(), try Account("_stranger"))
        let keys = (0..<3).map { _ in SealKey.random() }
        let (device, recipient) = (try account.device(), account.list.accountKey)
        let proof = proof(account.list, signers: [stranger.list])
        let first = try wrapped(1, keys[0], after: nil, for: recipient, by: stranger.signing)
        #expect(throws: GroupKeys.Invalid.self) { try GroupKeys(KeysResponse(group: [first]), proof, device) }
        // A device of the owner's is tricked into nothing: its version wraps the one before, which is another.
        let genuine = try wrapped(1, keys[0], after: nil, for: recipient, by: account.signing)
        let next = try wrapped(2, keys[1], after: keys[0], for: recipient, by: account.signing)
        let opened = try GroupKeys(KeysResponse(group: [first, next]), proof, device)
        #expect(opened.keys[1] == keys[0], "the version before is what the genuine one wraps")
        var swapped = next
        swapped.previous = try wrapped(2, keys[1], after: keys[2], for: recipient, by: account.signing).previous
        #expect(throws: GroupKeys.Invalid.self) {
            try GroupKeys(KeysResponse(group: [genuine, swapped]), proof, device)
        }
    }
}
