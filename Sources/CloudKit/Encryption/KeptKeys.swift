import Foundation
import NephosCrypto

/// The items of a device in its key store: one item for each account of each container and environment. Several
/// processes may use them concurrently.
struct KeptKeys: Sendable {
    /// The secrets and pins that an item contains.
    struct Contents: Hashable, Sendable, Codable {
        var secrets: AccountSecrets
        /// The number of entries that the account's device list had when it was last seen. The next property is the
        /// hash of the last entry. A list that does not begin with the same entries is a different list.
        var listCount: Int64 = 0
        var listHash = Data()
        /// The code by which another device approves this one; nil once this device is on the list.
        var code: Data?
        /// Whether the device was revoked and got these keys since; nil once this device is on the list.
        var isRevoked: Bool?
        /// The last seen device lists of other accounts, by user record name; nil for none.
        var pins: [String: Pin]?
        var waiting: [String: Waiting]?
    }

    /// A device list, as it was last seen.
    struct Pin: Hashable, Sendable, Codable {
        var count: Int64
        /// The hash of the list's last entry.
        var hash: Data
        /// The hash of the list's first entry, by which two people compare the list; nil if it was not stored.
        var first: Data?

        /// Nil for an empty list.
        init?(_ list: DeviceList) {
            guard let first = list.hashes.first else { return nil }
            self.init(count: list.count, hash: Data(list.hash), first: Data(first))
        }

        init(count: Int64, hash: Data, first: Data?) {
            self.count = count
            self.hash = hash
            self.first = first
        }

        /// Whether a list equals the pinned list or continues it.
        func isBeginning(of list: DeviceList) -> Bool {
            list.count >= count && (count == 0 || list.hashes[Int(count) - 1] == [UInt8](hash))
        }
    }

    /// A group whose key is delivered to an account once a person has accepted the device list of that account.
    struct WaitingGroup: Hashable, Sendable, Codable {
        var zoneName: String
        /// The user record name of the zone's owner; nil for the current account.
        var owner: String?
        var group: String
    }

    /// A device list of another account that does not continue the pinned list. It awaits a person's decision.
    struct Waiting: Hashable, Sendable, Codable {
        var pin: Pin
        var groups: Set<WaitingGroup> = []
    }

    /// The reason why the keys cannot be read or stored.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        var description: String
    }

    private let store: any DeviceKeyStore
    /// The name of the item. It does not depend on the service's address, so that a device keeps its keys when that
    /// changes. User record names are random, and so is every account's.
    private let item: String
    /// The name that earlier versions gave the item, which depends on the service's address.
    private let olderItem: String

    /// - Parameter service: the name that earlier versions gave the service.
    init(in store: any DeviceKeyStore, service: String, _ place: KeyPlace) {
        func name(_ parts: String...) -> String {
            Hexadecimal.text(ContentHash.of(Array(parts.joined(separator: "\n").utf8)).prefix(16)) + ".json"
        }
        self.store = store
        item = name(place.container, place.environment, place.owner)
        olderItem = name(service, place.container, place.environment, place.owner)
    }

    /// Reads the item, applies `body` and stores the result, under a lock that other processes respect. Nil stands for
    /// a missing item. Blocks.
    @discardableResult
    func update<Value>(_ body: (inout Contents?) -> Value) throws(Failure) -> Value {
        try copyOlderItem()
        return try change(item) { (data: inout Data?) throws(Failure) in
            let old = try data.map(decoded)
            var contents = old
            let value = body(&contents)
            if let contents, contents != old { data = try encoded(contents) }
            return value
        }
    }

    /// Copies the item of an earlier version, if there is none of this one. Other programs may still use the earlier
    /// version, so its item stays. One item at a time: a store may have one lock for all.
    private func copyOlderItem() throws(Failure) {
        guard try change(item, { (data: inout Data?) throws(Failure) in data }) == nil,
            let older = try change(olderItem, { (data: inout Data?) throws(Failure) in data })
        else { return }
        try change(item) { (data: inout Data?) throws(Failure) in data = data ?? older }
    }

    /// Makes new secrets. A backup item keeps the former ones, in place of an earlier backup. The pins of other accounts'
    /// lists stay. Blocks.
    /// - Parameter revoked: the secrets of the device that was revoked; nothing happens if another process has replaced
    ///   them. Nil replaces any.
    /// - Returns: what the item has then.
    @discardableResult
    func renew(_ revoked: AccountSecrets? = nil) throws(Failure) -> Contents {
        func isOther(_ contents: Contents) -> Bool {
            revoked.map { $0.signingSeed != contents.secrets.signingSeed } ?? false
        }
        if let contents = try update({ $0 }), isOther(contents) { return contents }
        let former = try change(item) { (data: inout Data?) throws(Failure) in data }
        try change(item + ".former") { (data: inout Data?) throws(Failure) in data = former ?? data }
        return try update { contents in
            if let contents, isOther(contents) { return contents }
            let renewed = Contents(
                secrets: .random(), isRevoked: revoked == nil ? nil : true, pins: contents?.pins,
                waiting: contents?.waiting)
            contents = renewed
            return renewed
        }
    }

    private func change<Value>(
        _ item: String, _ body: (inout Data?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var outcome: Result<Value, Failure>?
        do {
            try store.update(item) { data in
                var changed = data
                do throws(Failure) {
                    outcome = .success(try body(&changed))
                    data = changed
                } catch {
                    outcome = .failure(error)
                }
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(description: "The device's keys cannot be read or kept: \(error)")
        }
        guard let outcome else {
            throw Failure(description: "The device's keys cannot be read: its store said nothing of '\(item)'")
        }
        return try outcome.get()
    }

    private func decoded(_ data: Data) throws(Failure) -> Contents {
        guard let contents = try? JSONDecoder().decode(Contents.self, from: data) else {
            let place = (store as? FileKeyStore)?.path(of: item) ?? "'\(item)'"
            throw Failure(description: "The keys in \(place) are damaged")
        }
        return contents
    }

    private func encoded(_ contents: Contents) throws(Failure) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(contents) else {
            throw Failure(description: "The device's keys cannot be encoded")
        }
        return data
    }

    /// Returns the device list of another account as this device last saw it; nil if it never did. Blocks.
    func pin(of user: String) throws(Failure) -> Pin? { try update { $0?.pins?[user] } }

    /// Stores the pin of another account's list. Blocks.
    func keep(_ pin: Pin, of user: String) throws(Failure) {
        try update { contents in
            var pins = contents?.pins ?? [:]
            pins[user] = pin
            contents?.pins = pins
        }
    }

    /// Stores a device list that awaits a person's decision. Blocks.
    func keepWaiting(_ pin: Pin, of user: String) {
        try? update { contents in
            var waiting = contents?.waiting ?? [:]
            waiting[user] = Waiting(pin: pin, groups: waiting[user]?.groups ?? [])
            contents?.waiting = waiting
        }
    }

    /// Stores a group whose key is delivered once a person has accepted the list of an account. Blocks.
    func keepWaiting(_ group: WaitingGroup, of user: String) {
        try? update { contents in
            guard contents?.waiting?[user]?.groups.count ?? Self.waitingGroups < Self.waitingGroups else { return }
            contents?.waiting?[user]?.groups.insert(group)
        }
    }

    /// Removes a group whose key an account has got, and the list after its last group, unless another list waits than the
    /// accepted one. Blocks.
    /// - Parameters:
    ///   - group: nil removes a list without groups.
    ///   - accepted: the list that a person has accepted; nil for the pinned one.
    func endWaiting(_ group: WaitingGroup?, of user: String, accepted: Pin? = nil) {
        try? update { contents in
            guard var waiting = contents?.waiting?[user], waiting.pin == accepted ?? contents?.pins?[user] else {
                return
            }
            if let group { waiting.groups.remove(group) }
            contents?.waiting?[user] = waiting.groups.isEmpty ? nil : waiting
        }
    }

    /// The maximum number of waiting groups per account.
    private static let waitingGroups = 1000
}
