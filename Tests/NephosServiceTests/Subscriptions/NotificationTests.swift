import NephosPostgresTesting
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// The recipients and the content of notifications.
struct NotificationTests {
    private let cloud = TestCloud.impatient()

    /// A zone Z with the type Note, which has the field `text`.
    private func zone(_ account: String = "me") async throws -> TestDatabase {
        let database = try await TestDatabase(cloud, account).making(zone: "Z")
        _ = try await database.modify([.create("first", ["text": .string("x"), "count": .int64(0)])])
        return database
    }

    @Test func `a query subscription notifies of creations, updates and deletions as configured`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        for (id, triggers) in [("c", [.create]), ("u", [.update]), ("d", [.delete])]
            as [(String, Set<SubscriptionDictionary.Trigger>)]
        {
            _ = try await zone.save(.query(id, triggers, zone: "Z"))
        }
        _ = try await zone.modify([.create("a")])
        #expect(try await device.all() == ["c: recordCreated a in Z"])
        _ = try await zone.modify([.force("a", ["text": .string("y")])])
        #expect(try await device.all() == ["u: recordUpdated a in Z"])
        _ = try await zone.modify([.delete("a"), .delete("missing")])
        #expect(try await device.all() == ["d: recordDeleted a in Z"])
    }

    @Test func `a condition is evaluated on the new record, and on the old one for a deletion`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.query("S", where: [Filter(.field("count"), .greaterThan, .int64(5))], zone: "Z"))
        _ = try await zone.modify([.create("low", ["count": .int64(1)]), .create("high", ["count": .int64(9)])])
        #expect(try await device.all() == ["S: recordCreated high in Z"])
        _ = try await zone.modify([.force("low", ["count": .int64(7)]), .force("high", ["count": .int64(2)])])
        #expect(try await device.all() == ["S: recordUpdated low in Z"])
        _ = try await zone.modify([.delete("low"), .delete("high")])
        #expect(try await device.all() == ["S: recordDeleted low in Z"])
    }

    @Test func `a word search without a field examines the fields that a query does`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(
            .query(
                "S", where: [Filter(.allSearchableFields, .containsAnyTokens, .string("bob"))], zone: "Z"))
        _ = try await zone.modify([
            .create("list", ["text": .string("nothing"), "names": .list(of: .string, [.string("bob")])]),
            .create("string", ["text": .string("bob is here")]),
        ])
        #expect(try await device.all() == ["S: recordCreated string in Z"])
    }

    @Test func `a query subscription matches its type in its zone, or in all zones`() async throws {
        let zone = try await zone()
        let database = TestDatabase(cloud)
        let device = try await TestDevice(cloud)
        _ = try await database.save(.query("default"))
        _ = try await database.save(.query("zone", zone: "Z"))
        _ = try await database.save(.query("wide", zoneWide: true))
        _ = try await zone.modify([.create("a"), .create("other", type: "Other")])
        #expect(Set(try await device.all()) == ["zone: recordCreated a in Z", "wide: recordCreated a in Z"])
        _ = try await database.modify([.create("b")])
        #expect(
            Set(try await device.all()) == [
                "default: recordCreated b in _defaultZone", "wide: recordCreated b in _defaultZone",
            ])
    }

    @Test(arguments: ["Z", nil])
    func `a cascade notifies of its deletions, at once in a custom zone and later in the default zone`(name: String?)
        async throws
    {
        _ = try await zone()
        let zone = TestDatabase(cloud, zone: name)
        let device = try await TestDevice(cloud)
        _ = try await zone.modify([
            .create("a"), .create("b", ["text2": .owner("a")]), .create("c", ["text2": .owner("b")]),
        ])
        _ = try await zone.save(.query("S", [.delete], zone: name))
        _ = try await zone.modify([.delete("a")])
        await cloud.service.settle()
        let place = name ?? "_defaultZone"
        #expect(
            Set(try await device.all())
                == [
                    "S: recordDeleted a in \(place)", "S: recordDeleted b in \(place)",
                    "S: recordDeleted c in \(place)",
                ])
    }

    @Test func `a subscription that fires once is deleted with its first notification`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.query("S", [.create], once: true, zone: "Z"))
        _ = try await zone.modify([.create("a"), .create("b")])
        #expect(try await device.all() == ["S: recordCreated a in Z"])
        #expect(try await zone.subscriptionIDs() == [])
        _ = try await zone.modify([.create("c")])
        #expect(try await device.all() == [])
    }

    @Test func `of several zone or database notifications the last replaces the others`() async throws {
        let zone = try await zone()
        let other = try await TestDatabase(cloud).making(zone: "Other")
        let device = try await TestDevice(cloud)
        for subscription in [
            SubscriptionDictionary.zone("zone", "Z"), .zone("narrow", "Z", type: "Other"), .database("all"),
        ] {
            _ = try await zone.save(subscription)
        }
        _ = try await other.modify([.create("a")])
        #expect(try await device.all() == ["all: database"])
        _ = try await zone.modify([.create("a"), .create("b")])
        _ = try await zone.modify([.force("a"), .delete("b")])
        #expect(Set(try await device.all()) == ["all: database", "zone: zone Z"])
        _ = try await zone.modify([.create("c", type: "Other")])
        #expect(Set(try await device.all()) == ["all: database", "zone: zone Z", "narrow: zone Z"])
    }

    @Test func `a database subscription notifies of made and deleted zones, a zone subscription of its zone's end`()
        async throws
    {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.database("all"))
        _ = try await zone.save(.zone("zone", "Z"))
        _ = try await TestDatabase(cloud).making(zone: "New")
        #expect(try await device.all() == ["all: database"])
        _ = try await TestDatabase(cloud).making(zone: "New")
        #expect(try await device.all() == [])
        _ = try await cloud.service.modifyZones(
            ModifyZonesRequest(operations: [
                ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "Z"))
            ]), zone.context)
        #expect(Set(try await device.all()) == ["all: database", "zone: zone Z"])
    }

    @Test func `refused and rolled back changes are not notified`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.query("S", zone: "Z"))
        _ = try await zone.save(.database("all"))
        let results = try await zone.modify([.create("a"), .create("first")])
        #expect(results.map(\.summary) == ["error 22", "error 14"])
        #expect(try await device.all() == [])
    }

    @Test func `every client of the account is notified, except the one that made the change`() async throws {
        _ = try await zone()
        let (phone, tablet) = (
            try await TestDevice(cloud, client: "phone"), try await TestDevice(cloud, client: "tablet")
        )
        let nameless = try await TestDevice(cloud)
        let onPhone = TestDatabase(cloud, zone: "Z", client: "phone")
        _ = try await onPhone.save(.query("S", [.create], zone: "Z"))
        _ = try await onPhone.modify([.create("a")])
        #expect(try await phone.all() == [])
        #expect(try await tablet.all() == ["S: recordCreated a in Z"])
        #expect(try await nameless.all() == ["S: recordCreated a in Z"])
        _ = try await TestDatabase(cloud, zone: "Z", client: "tablet").modify([.create("b")])
        #expect(try await phone.all() == ["S: recordCreated b in Z"])
        #expect(try await tablet.all() == [])
    }

    @Test func `in the public database every account is notified, whatever its clients are called`() async throws {
        let mine = TestDatabase(cloud, "me", .public, client: "c")
        _ = try await mine.modify([.create("first")])
        let (me, you) = (try await TestDevice(cloud, client: "c"), try await TestDevice(cloud, "you", client: "c"))
        let yours = TestDatabase(cloud, "you", .public, client: "c")
        _ = try await mine.save(.query("mine"))
        _ = try await yours.save(.query("yours"))
        _ = try await mine.modify([.create("a")])
        #expect(try await me.all() == [])
        let told = try #require(try await you.next())
        #expect(told.summary == "yours: recordCreated a in _defaultZone")
        #expect(told.databaseScope == .public && told.zoneID?.ownerRecordName == "_defaultOwner")
    }

    @Test func `a change in a private database notifies no other account`() async throws {
        let zone = try await zone()
        let you = try await TestDevice(cloud, "you")
        _ = try await TestDatabase(cloud, "you").save(.database("yours"))
        _ = try await zone.save(.database("mine"))
        _ = try await zone.modify([.create("a")])
        #expect(try await you.all() == [])
    }

    @Test func `changes before a client's token are not notified`() async throws {
        let zone = try await zone()
        _ = try await zone.save(.query("S", zone: "Z"))
        _ = try await zone.modify([.create("a")])
        await cloud.service.tellSubscribers()
        #expect(try await TestDevice(cloud).all() == [])
    }

    // MARK: - What is said

    @Test func `a notification shows its info, filled from the record's fields`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        var info = NotificationInfoDictionary()
        info.alertLocalizationKey = "%1$@ wrote %2$@ at %3$@, %4$@"
        info.alertLocalizationArgs = ["text", "count", "when", "missing"]
        info.title = "News"
        info.subtitle = "Really"
        info.soundName = "default"
        info.category = "C"
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        info.additionalFields = ["text", "link", "when"]
        _ = try await zone.save(.query("S", zone: "Z", info: info))
        let long = String(repeating: "é", count: 150)
        _ = try await zone.modify([
            .create(
                "a",
                ["text": .string(long), "count": .int64(3), "when": .timestamp(1_000), "link": .link("first")])
        ])
        let payload = try #require(try await device.next())
        let cut = String(long.prefix(100))
        #expect(payload.alert.localizationKey == info.alertLocalizationKey)
        #expect(payload.alert.localizationArgs == [cut, "3", "1970-01-01T00:00:01Z", ""])
        #expect(payload.title.text == "News" && payload.subtitle.text == "Really")
        #expect(payload.soundName == "default" && payload.category == "C" && payload.badge == 1)
        #expect(payload.isMutableContent && !payload.isContentAvailable && !payload.isSilent)
        #expect(
            payload.kind
                == .query(
                    recordName: "a", reason: .recordCreated,
                    fields: [
                        "text": .string(cut), "when": .timestamp(1_000),
                        "link": .reference(ReferenceValue(recordName: "first")),
                    ]))
        let user = try await cloud.service.currentUser(zone.context).userRecordName
        #expect(payload.userRecordName == user && payload.containerIdentifier == "iCloud.test")
        #expect(payload.zoneID == ZoneIDDictionary(zoneName: "Z", ownerRecordName: user))
        #expect(payload.databaseScope == .private && !payload.isPruned)

        _ = try await zone.modify([.delete("a")])
        let deletion = try #require(try await device.next())
        #expect(deletion.kind == .query(recordName: "a", reason: .recordDeleted, fields: [:]))
    }

    @Test func `the texts of a notification are bounded in number and bytes, also of a subscription from before`() {
        var info = NotificationInfoDictionary()
        info.alertLocalizationKey = "KEY"
        info.alertLocalizationArgs = Array(repeating: "text", count: 5000)
        let text = String(repeating: "e" + String(repeating: "\u{301}", count: 500), count: 101)
        let row = RecordRow(
            zone: ZoneKey(owner: .everyone, id: 3), name: "a", type: "Note", sequence: 9, createdAt: 1, createdBy: 4,
            modifiedAt: 5, modifiedBy: 6,
            fields: RecordFields([.init(name: "text", field: Field(.string(text)))]).encoded().bytes)
        var payload = NotificationPayload(
            .database, notificationID: nil, containerIdentifier: "c", userRecordName: nil, subscriptionID: "s",
            databaseScope: .private, zoneID: nil)
        NotificationText(info: info, record: row).fill(&payload)
        let arguments = payload.alert.localizationArgs ?? []
        #expect(arguments.count == 32)
        #expect(arguments.allSatisfy { 397...400 ~= $0.utf8.count && text.utf8.starts(with: $0.utf8) })
    }

    @Test func `a notification without an alert is silent`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.query("S", zone: "Z"))
        _ = try await zone.modify([.create("a")])
        let payload = try #require(try await device.next())
        #expect(payload.isSilent && payload.isContentAvailable)
    }

    @Test func `a notification that is too long is pruned and says so`() async throws {
        let zone = try await zone()
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.query("S", zone: "Z", info: .text(String(repeating: "x", count: 5_000))))
        _ = try await zone.modify([.create("a")])
        let payload = try #require(try await device.next())
        #expect(payload.isPruned && payload.encoded().count <= Limits.notificationSize)
        #expect(payload.kind == .query(recordName: "a", reason: .recordCreated, fields: [:]))
    }
}
