import Foundation
import NephosCrypto
import Synchronization
import Testing

@testable import CloudKit

/// The items of a device in its key store.
@Suite struct KeptKeysTests {
    private final class Store: DeviceKeyStore {
        let items = Mutex([String: Data]())
        func update(_ item: String, _ body: (inout Data?) -> Void) { items.withLock { body(&$0[item]) } }
    }

    private static let place = KeyPlace(container: "iCloud.a", environment: "development", owner: "_a")

    /// The name that earlier versions gave an item.
    private static func olderName(_ service: String, _ place: KeyPlace) -> String {
        let text = "\(service)\n\(place.container)\n\(place.environment)\n\(place.owner)"
        return ContentHash.of(Array(text.utf8)).prefix(16).map { String(format: "%02x", $0) }.joined() + ".json"
    }

    private func secrets(_ store: Store, _ service: String, _ place: KeyPlace = place) throws -> AccountSecrets? {
        try KeptKeys(in: store, service: service, place).update { $0?.secrets }
    }

    @Test func `an item does not depend on the service's address, and does on everything else`() throws {
        let store = Store()
        let made = KeptKeys.Contents(secrets: .random())
        try KeptKeys(in: store, service: "http://a", Self.place).update { $0 = made }
        #expect(try secrets(store, "https://b") == made.secrets)
        for change in [\KeyPlace.container, \.environment, \.owner] {
            var other = Self.place
            other[keyPath: change] = "x"
            #expect(try secrets(store, "http://a", other) == nil)
        }
    }

    @Test func `of two processes that make new keys for a revoked device one does, and the former keys stay`() throws {
        let store = Store()
        let revoked = KeptKeys.Contents(secrets: .random())
        let kept = KeptKeys(in: store, service: "http://a", Self.place)
        try kept.update { $0 = revoked }
        let renewed = try kept.renew(revoked.secrets)
        #expect(renewed.secrets.signingSeed != revoked.secrets.signingSeed)
        #expect(try kept.renew(revoked.secrets) == renewed)
        let former = try #require(store.items.withLock { $0.first { $0.key.hasSuffix(".former") }?.value })
        #expect(try JSONDecoder().decode(KeptKeys.Contents.self, from: former) == revoked)
    }

    @Test func `the item of an earlier version is taken over once, and stays`() throws {
        let store = Store()
        let (older, newer) = (KeptKeys.Contents(secrets: .random()), KeptKeys.Contents(secrets: .random()))
        let data = try JSONEncoder().encode(older)
        store.items.withLock { $0[Self.olderName("http://a", Self.place)] = data }
        #expect(try secrets(store, "https://b") == nil, "another service's")
        #expect(try secrets(store, "http://a") == older.secrets)
        #expect(try secrets(store, "https://b") == older.secrets)
        try KeptKeys(in: store, service: "http://a", Self.place).update { $0 = newer }
        #expect(try secrets(store, "http://a") == newer.secrets)
        #expect(store.items.withLock { $0[Self.olderName("http://a", Self.place)] } == data)
    }
}
