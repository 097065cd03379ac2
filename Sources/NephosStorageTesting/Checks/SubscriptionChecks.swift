import NephosStorage

extension StorageConformance {
    static let subscriptions: [StorageCheck] =
        [
            .engine("A subscription is found by owner, account and id, and written again in its place") { engine in
                let row = SubscriptionRow.sample(OwnerID(rawValue: 1), 1, "S")
                try await engine.write { transaction in
                    try transaction.put(row)
                    try transaction.put(SubscriptionRow.sample(OwnerID(rawValue: 1), 2, "S"))
                    try transaction.put(SubscriptionRow.sample(.everyone, 1, "S"))
                }
                let found = try await engine.read { try $0.subscription(owner: row.owner, account: 1, id: "S") }
                try expect(found, equals: row)
                var changed = row
                changed.recordType = "Other"
                changed.zone = 9
                changed.body = [0, 255]
                try await engine.write { [changed] in try $0.put(changed) }
                let after = try await engine.read { try $0.subscriptions(owner: row.owner, account: 1) }
                try expect(after, equals: [changed])
                let missing = try await engine.read { try $0.subscription(owner: row.owner, account: 1, id: "s") }
                try expect(missing, equals: nil)
            },
            .engine("Subscriptions are listed by account, and by record type over all accounts") { engine in
                let owner = OwnerID(rawValue: 3)
                try await engine.write { transaction in
                    for name in trickyTexts { try transaction.put(SubscriptionRow.sample(owner, 1, name)) }
                    try transaction.put(SubscriptionRow.sample(owner, 2, "x", recordType: "Note"))
                    try transaction.put(SubscriptionRow.sample(owner, 1, "y", recordType: "note"))
                    try transaction.put(SubscriptionRow.sample(owner, 2, "z"))
                    try transaction.put(SubscriptionRow.sample(.everyone, 1, "other"))
                }
                let mine = try await engine.read { try $0.subscriptions(owner: owner, account: 1) }
                try expect(mine.map(\.id).asBytes, equals: (trickyTexts + ["y"]).sortedByBytes().asBytes)
                let notes = try await engine.read {
                    try $0.subscriptions(owner: owner, recordType: "Note", after: nil, limit: 10)
                }
                try expect(notes.map(\.id), equals: ["x"])
                let all = try await engine.read {
                    try $0.subscriptions(owner: owner, recordType: "", after: nil, limit: .max)
                }
                try expect(all.count, equals: trickyTexts.count + 1)
                try expect(all.last?.account, equals: 2)
                for (index, row) in all.enumerated() {
                    let next = try await engine.read {
                        try $0.subscriptions(owner: owner, recordType: "", after: (row.account, row.id), limit: 2)
                    }
                    try expect(next, equals: Array(all.dropFirst(index + 1).prefix(2)))
                }
                let types = try await engine.read { try $0.subscribedTypes() }
                try expect(types, equals: [owner: ["", "Note", "note"], .everyone: [""]])
            },
            .engine("A subscription that is written again is one since it was first written") { engine in
                var row = SubscriptionRow.sample(.everyone, 1, "S")
                row.since = 5
                try await engine.write { [row] in try $0.put(row) }
                row.since = 9
                row.body = [7]
                try await engine.write { [row] in try $0.put(row) }
                let found = try await engine.read { try $0.subscription(owner: .everyone, account: 1, id: "S") }
                try expect(found?.since, equals: 5)
                try expect(found?.body, equals: [7])
            },
            .engine("What is to be told comes in the order in which it happened, and with how far it was told") {
                engine in
                let zone = ZoneKey(owner: OwnerID(rawValue: 3), id: 4)
                let events = (1...3).map { number in
                    ChangeEventRow(
                        zone: zone, zoneName: "Z\(number)", sequence: Int64(number), originAccount: 2,
                        originClient: "c", body: [UInt8(number), 0, 255])
                }
                try await engine.write { transaction in
                    for event in events { try transaction.insert(event) }
                }
                let found = try await engine.read { try $0.changeEvents(after: 0, limit: 10) }
                try expect(found.map(\.zoneName), equals: ["Z1", "Z2", "Z3"])
                var second = found[1]
                try expect(second.body, equals: [2, 0, 255])
                try expect(second.position, equals: nil)
                let place = SubscriptionPosition(recordType: "", account: 7, id: "S", count: 2)
                let ids = found.map(\.id)
                try await engine.write { transaction in
                    try transaction.removeChangeEvent(id: ids[0])
                    var told = found[1]
                    (told.position, told.sequence) = (place, 7)
                    try transaction.update(told)
                }
                (second.position, second.sequence) = (place, 7)
                let left = try await engine.read { try $0.changeEvents(after: 0, limit: 1) }
                try expect(left, equals: [second])
            },
            .engine("The last event before the newest ones is found, whatever the gaps between the numbers") { engine in
                let zone = ZoneKey(owner: OwnerID(rawValue: 3), id: 4)
                func insert(_ count: Int) async throws {
                    try await engine.write { transaction in
                        for number in 0..<count {
                            try transaction.insert(
                                ChangeEventRow(
                                    zone: zone, zoneName: "Z", sequence: Int64(number), originAccount: 2,
                                    originClient: "c", body: []))
                        }
                    }
                }
                try await insert(7)
                let ids = try await engine.read { try $0.changeEvents(after: 0, limit: 10).map(\.id) }
                try await engine.write { transaction in
                    for id in ids[1..<5] { try transaction.removeChangeEvent(id: id) }
                }
                try await insert(1)
                let left = try await engine.read { try $0.changeEvents(after: 0, limit: 10).map(\.id) }
                try expect(left.count, equals: 4)
                for count in 0...5 {
                    let found = try await engine.read { try $0.lastChangeEvent(before: count) }
                    try expect(found, equals: count < 4 ? left[3 - count] : nil)
                }
            },
            .engine("Removing a subscription says whether there was one, and leaves the others") { engine in
                let owner = OwnerID(rawValue: 1)
                try await engine.write { transaction in
                    for (account, id) in [(1, "a"), (1, "b"), (2, "a")] as [(Int64, String)] {
                        try transaction.put(SubscriptionRow.sample(owner, account, id))
                    }
                }
                let removed = try await engine.write { transaction in
                    [
                        try transaction.removeSubscription(owner: owner, account: 1, id: "a"),
                        try transaction.removeSubscription(owner: owner, account: 1, id: "a"),
                        try transaction.removeSubscription(owner: .everyone, account: 1, id: "b"),
                    ]
                }
                try expect(removed, equals: [true, false, false])
                let left = try await engine.read {
                    try $0.subscriptions(owner: owner, recordType: "", after: nil, limit: 10)
                }
                try expect(left.map(\.id), equals: ["b", "a"])
            },
            .engine("The subscriptions about a zone are removed together") { engine in
                let zone = ZoneKey(owner: OwnerID(rawValue: 1), id: 7)
                try await engine.write { transaction in
                    try transaction.put(SubscriptionRow.sample(zone.owner, 1, "in", zone: 7))
                    try transaction.put(SubscriptionRow.sample(zone.owner, 2, "in", zone: 7))
                    try transaction.put(SubscriptionRow.sample(zone.owner, 1, "all", zone: 0))
                    try transaction.put(SubscriptionRow.sample(.everyone, 1, "other", zone: 7))
                    try transaction.removeSubscriptions(zone: zone)
                }
                let owners = try await engine.read { reader in
                    try reader.subscribedTypes().keys.flatMap {
                        try reader.subscriptions(owner: $0, recordType: "", after: nil, limit: 10)
                    }
                }
                try expect(Set(owners.map(\.id)), equals: ["all", "other"])
            },
            .engine("A push token is found by itself and by its account, and written again in its place") { engine in
                let row = PushTokenRow(
                    token: "T", account: 1, client: "c", environment: "development", isDevice: true, polls: false,
                    seenAt: 5)
                var second = row
                second.token = "S"
                var other = row
                other.token = "t"
                other.account = 2
                try await engine.write { [second, other] transaction in
                    for row in [row, second, other] { try transaction.put(row) }
                }
                try expect(try await engine.read { try $0.pushToken("T") }, equals: row)
                try expect(try await engine.read { try $0.pushTokens(account: 1) }, equals: [second, row])
                second.isDevice = false
                second.polls = true
                second.seenAt = .max
                second.handedOut = 7
                second.client = ""
                second.environment = "production"
                try await engine.write { [second] transaction in
                    try transaction.put(second)
                    try transaction.removePushToken("T")
                    try transaction.removePushToken("T")
                }
                try expect(try await engine.read { try $0.pushTokens(account: 1) }, equals: [second])
                try expect(try await engine.read { try $0.pushToken("T") }, equals: nil)
                try expect(try await engine.read { try $0.pushToken("t") }, equals: other)
                try await engine.write { try $0.noteHandedOut(12, token: "t") }
                try expect(try await engine.read { try $0.pushToken("t")?.handedOut }, equals: 12)
            },
        ] + outbox

    private static let outbox: [StorageCheck] = [
        .engine("What waits for a destination comes oldest first") { engine in
            let rows = (1...5).map { OutboxRow.sample(id: Int64($0)) }
            try await engine.write { transaction in
                for row in rows.reversed() { try transaction.insert(row) }
                try transaction.insert(OutboxRow.sample("other", id: 1))
                try transaction.insert(OutboxRow.sample(account: 2, id: 1))
            }
            try expect(try await engine.read { try $0.outbox(account: 1, destination: "d", limit: 9) }, equals: rows)
            let first = try await engine.read { try $0.outbox(account: 1, destination: "d", limit: 2) }
            try expect(first, equals: Array(rows.prefix(2)))
            try await expect(.constraint, "a second one with an id") {
                try await engine.write { try $0.insert(OutboxRow.sample(id: 3)) }
            }
        },
        .engine("What waits for an account goes at once, wherever it goes") { engine in
            try await engine.write { transaction in
                for row in [OutboxRow.sample(id: 1), .sample("other", id: 2), .sample(account: 2, id: 3)] {
                    try transaction.insert(row)
                }
                try transaction.removeOutbox(account: 1)
            }
            let left = try await engine.read { reader in
                try [(1, "d"), (1, "other"), (2, "d")].map { account, destination in
                    try reader.outbox(account: account, destination: destination, limit: 9).map(\.id)
                }
            }
            try expect(left, equals: [[], [], [3]])
        },
        .engine("What is due comes longest due first, and what is fetched is never due") { engine in
            try await engine.write { transaction in
                try transaction.insert(OutboxRow.sample(id: 1, due: 30))
                try transaction.insert(OutboxRow.sample("e", id: 2, due: 10))
                try transaction.insert(OutboxRow.sample(account: 2, id: 3, due: 20))
                try transaction.insert(OutboxRow.sample(id: 4, due: 0))
            }
            let due = try await engine.read { try $0.dueOutbox(at: 29, limit: 9) }
            try expect(due.map(\.id), equals: [2, 3])
            try expect(try await engine.read { try $0.dueOutbox(at: 30, limit: 2) }.map(\.id), equals: [2, 3])
            try expect(try await engine.read { try $0.nextOutboxDue(after: 20) }, equals: 30)
            try expect(try await engine.read { try $0.nextOutboxDue(after: 30) }, equals: nil)
            try await engine.write { transaction in
                try transaction.updateOutbox(OutboxRow.sample("e", id: 2, due: 10), attempts: 3, due: 40)
                try transaction.updateOutbox(OutboxRow.sample("e", id: 99, due: 10), attempts: 3, due: 1)
                // Another server has claimed the notification meanwhile.
                try transaction.updateOutbox(OutboxRow.sample(id: 1, due: 29), attempts: 9, due: 1)
            }
            let later = try await engine.read { try $0.dueOutbox(at: 40, limit: 9) }
            try expect(later.map(\.id), equals: [3, 1, 2])
            try expect(later.map(\.attempts), equals: [0, 0, 3])
            let first = try await engine.read {
                try $0.firstOutbox(of: [
                    OutboxDestinationKey(account: 1, destination: "d"),
                    OutboxDestinationKey(account: 9, destination: "d"),
                    OutboxDestinationKey(account: 2, destination: "d"),
                ])
            }
            try expect(first.map(\.id).sorted(), equals: [1, 3])
        },
        .engine("What was claimed is due again when the claim is over, and not before") { engine in
            try await engine.write { transaction in
                for id in 1...3 { try transaction.insert(OutboxRow.sample(id: Int64(id), due: 10)) }
            }
            let claimed = try await engine.write { try $0.claimDueOutbox(at: 10, until: 50, limit: 2) }
            try expect(claimed.map(\.id), equals: [1, 2])
            try expect(claimed.map(\.due), equals: [50, 50])
            let rest = try await engine.write { try $0.claimDueOutbox(at: 49, until: 90, limit: 9) }
            try expect(rest.map(\.id), equals: [3])
            try expect(try await engine.read { try $0.dueOutbox(at: 50, limit: 9) }.map(\.id), equals: [1, 2])
            try await engine.write { try $0.updateOutbox(claimed[0], attempts: 1, due: 70) }
            try expect(try await engine.read { try $0.nextOutboxDue(after: 50) }, equals: 70)
        },
        .engine("Notifications are removed one by one, by subject, and all but the newest") { engine in
            try await engine.write { transaction in
                for id in 1...9 {
                    try transaction.insert(OutboxRow.sample(id: Int64(id), subject: id.isMultiple(of: 3) ? "s" : ""))
                    try transaction.insert(OutboxRow.sample("e", id: Int64(id), subject: "s"))
                }
            }
            let removed = try await engine.write { transaction in
                let removed = [
                    try transaction.removeOutbox(account: 1, destination: "d", id: 2),
                    try transaction.removeOutbox(account: 1, destination: "d", id: 2),
                    try transaction.removeOutbox(account: 2, destination: "d", id: 1),
                ]
                try transaction.removeOutbox(account: 1, destination: "d", subject: "s")
                try transaction.removeOutbox(account: 1, destination: "d", subject: "")
                try transaction.removeOutbox(account: 1, destination: "e", keeping: 9)
                return removed
            }
            try expect(removed, equals: [true, false, false])
            func ids(_ destination: String) async throws -> [Int64] {
                try await engine.read { try $0.outbox(account: 1, destination: destination, limit: 99) }.map(\.id)
            }
            try expect(try await ids("d"), equals: [1, 4, 5, 7, 8])
            try expect(try await ids("e").count, equals: 9)
            try await engine.write { transaction in
                try transaction.removeOutbox(account: 1, destination: "e", keeping: 2)
                try transaction.removeOutbox(account: 1, destination: "d", keeping: 0)
            }
            try expect(try await ids("e"), equals: [8, 9])
            try expect(try await ids("d"), equals: [])
        },
        .engine("A notification is added for many destinations at once, and they are known by its subject") { engine in
            // The counts are below, equal to and above the number of rows that one statement adds (16), with and
            // without a remainder.
            for count in [1, 15, 16, 37] {
                let account = Int64(count)
                let places = (1...count).map { OutboxPlace(destination: "d\($0)", id: Int64($0), due: Int64($0 % 3)) }
                try await engine.write { transaction in
                    try transaction.insert(OutboxRow.sample(account: account, id: 0, subject: "s"), at: places)
                    try transaction.insert(OutboxRow.sample(account: account, "other", id: 1, subject: "t"))
                    try transaction.insert(OutboxRow.sample(account: account, "none", id: 1, subject: ""))
                }
                for place in places {
                    let rows = try await engine.read {
                        try $0.outbox(account: account, destination: place.destination, limit: 9)
                    }
                    try expect(rows, equals: [OutboxRow.sample(account: account, id: 0, subject: "s").at(place)])
                }
                let known = try await engine.read { try $0.outboxDestinations(account: account, subject: "s") }
                try expect(known, equals: Set(places.map(\.destination)))
            }
            try expect(try await engine.read { try $0.outboxDestinations(account: 99, subject: "s") }, equals: [])
            try expect(try await engine.read { try $0.outboxDestinations(account: 1, subject: "") }, equals: [])
        },
        StorageCheck("Subscriptions, tokens and notifications survive until the store is opened again") { store in
            guard store.keepsData else { return }
            let subscription = SubscriptionRow.sample(.everyone, 1, "S")
            let token = PushTokenRow(
                token: "T", account: 1, client: "", environment: "production", isDevice: false, polls: true, seenAt: 5)
            let notification = OutboxRow.sample(id: 4, due: 3)
            try await store.run { engine in
                try await engine.write { transaction in
                    try transaction.put(subscription)
                    try transaction.put(token)
                    try transaction.insert(notification)
                }
            }
            try await store.run { engine in
                let found = try await engine.read { reader in
                    (
                        try reader.subscriptions(owner: .everyone, account: 1), try reader.pushTokens(account: 1),
                        try reader.outbox(account: 1, destination: "d", limit: 9)
                    )
                }
                try expect(found.0, equals: [subscription])
                try expect(found.1, equals: [token])
                try expect(found.2, equals: [notification])
            }
        },
    ]
}

extension SubscriptionRow {
    fileprivate static func sample(
        _ owner: OwnerID, _ account: Int64, _ id: String, recordType: String = "", zone: Int64 = 0
    ) -> SubscriptionRow {
        SubscriptionRow(
            owner: owner, account: account, id: id, recordType: recordType, zone: zone, body: Array("{}".utf8))
    }
}

extension OutboxRow {
    /// A notification with a distinct value in every column.
    fileprivate static func sample(
        account: Int64 = 1, _ destination: String = "d", id: Int64, subject: String = "", due: Int64 = 0
    ) -> OutboxRow {
        OutboxRow(
            account: account, destination: destination, id: id, subject: subject, notificationID: "n\(id)",
            subscriptionID: "s\(id)", collapseID: id.isMultiple(of: 2) ? "c\(id)" : nil, isSilent: id.isMultiple(of: 2),
            createdAt: 1_700_000_000_000 + id, payload: [0, 1, UInt8(truncatingIfNeeded: id)], due: due)
    }
}
