import Foundation
import NephosCrypto

/// What a device keeps in its store of keys: an item for each account of each service. Several processes may use it at a time.
struct KeptKeys: Sendable {
    /// What is in the item.
    struct Contents: Hashable, Sendable, Codable {
        var secrets: AccountSecrets
        /// How long the account's list of devices was when it was seen last, and the hash of its last entry: a list that
        /// does not begin with those entries is another one.
        var listCount: Int64 = 0
        var listHash = Data()
        /// Until the device is on the list, the code by which another one approves it.
        var code: Data?
        /// The same of the lists of others, by their user record names.
        var pins: [String: Pin]?
        var waiting: [String: Waiting]?
    }

    /// A list of devices as it was seen last.
    struct Pin: Hashable, Sendable, Codable {
        var count: Int64
        /// Of its last entry.
        var hash: Data
        /// Of its first entry, by which two people compare it.
        var first: Data?

        /// Nil for a list without entries.
        init?(_ list: DeviceList) {
            guard let first = list.hashes.first else { return nil }
            self.init(count: list.count, hash: Data(list.hash), first: Data(first))
        }

        init(count: Int64, hash: Data, first: Data?) {
            self.count = count
            self.hash = hash
            self.first = first
        }

        /// Whether a list is this one, or goes on from it.
        func isBeginning(of list: DeviceList) -> Bool {
            list.count >= count && (count == 0 || list.hashes[Int(count) - 1] == [UInt8](hash))
        }
    }

    /// A group whose key an account is to get once a person has accepted that account's list.
    struct WaitingGroup: Hashable, Sendable, Codable {
        var zoneName: String
        /// The zone's owner; nil for the account.
        var owner: String?
        var group: String
    }

    /// Another account's list that is not the one that is known, until a person has decided.
    struct Waiting: Hashable, Sendable, Codable {
        var pin: Pin
        var groups: Set<WaitingGroup> = []
    }

    /// Why the keys cannot be read or kept.
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        var description: String
    }

    private let store: any DeviceKeyStore
    private let item: String

    /// - Parameter service: what tells the service from others.
    init(in store: any DeviceKeyStore, service: String, _ place: KeyPlace) {
        let name = ContentHash.of(
            Array("\(service)\n\(place.container)\n\(place.environment)\n\(place.owner)".utf8))
        self.store = store
        item = name.prefix(16).map { String(format: "%02x", $0) }.joined() + ".json"
    }

    /// Reads the item and keeps what `body` makes of it, while no other process does: nil is no item. Blocks.
    @discardableResult
    func update<Value>(_ body: (inout Contents?) -> Value) throws(Failure) -> Value {
        try change(item) { (data: inout Data?) throws(Failure) in
            let old = try data.map(decoded)
            var contents = old
            let value = body(&contents)
            if let contents, contents != old { data = try encoded(contents) }
            return value
        }
    }

    /// Copies the item beside itself, in the place of an earlier copy. Blocks.
    func keepFormer() throws(Failure) {
        let former = try change(item) { (data: inout Data?) throws(Failure) in data }
        try change(item + ".former") { (data: inout Data?) throws(Failure) in data = former ?? data }
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

    /// Another account's list as this device saw it last; nil where it did not. Blocks.
    func pin(of user: String) throws(Failure) -> Pin? { try update { $0?.pins?[user] } }

    /// Blocks.
    func keep(_ pin: Pin, of user: String) throws(Failure) {
        try update { contents in
            var pins = contents?.pins ?? [:]
            pins[user] = pin
            contents?.pins = pins
        }
    }

    /// Notes a list that a person has to look at. Blocks.
    func keepWaiting(_ pin: Pin, of user: String) {
        try? update { contents in
            var waiting = contents?.waiting ?? [:]
            waiting[user] = Waiting(pin: pin, groups: waiting[user]?.groups ?? [])
            contents?.waiting = waiting
        }
    }

    /// Notes what follows once that person has accepted it. Blocks.
    func keepWaiting(_ group: WaitingGroup, of user: String) {
        try? update { contents in
            guard contents?.waiting?[user]?.groups.count ?? Self.waitingGroups < Self.waitingGroups else { return }
            contents?.waiting?[user]?.groups.insert(group)
        }
    }

    /// What is kept of one account.
    private static let waitingGroups = 1000
}
