import NephosStorage

extension StorageConformance {
    /// Adds a job, an event and a subscription for the zone.
    private static func putTasks(
        of zone: ZoneKey, account: Int64, in transaction: StorageTransaction
    ) throws {
        try transaction.insert(JobRow(kind: "k", zone: zone, subject: ""))
        try transaction.insert(
            ChangeEventRow(
                zone: zone, zoneName: "Z", sequence: transaction.nextSequence(), originAccount: account, body: []))
        try transaction.put(
            SubscriptionRow(
                owner: zone.owner, account: account, id: "\(zone.id)", recordType: "", zone: zone.id, body: []))
    }

    static let zones: [StorageCheck] = [
        .engine("Rows whose zone or account does not exist are found, and no others") { engine in
            let zone = try await engine.write { transaction in
                let owner = try transaction.insertAccount(name: "a", userRecordName: "_a").owner
                let deleted = try transaction.insertZone(owner: owner, name: "Deleted", sequence: 1).key
                try transaction.markZoneDeleted(deleted, sequence: 2, at: 1, reason: 0)
                let zone = try transaction.insertZone(owner: owner, name: "Z", sequence: 3).key
                for (index, zone) in [zone, deleted].enumerated() {
                    var record = RecordRow.sample(zone, "r", sequence: Int64(4 + index))
                    (record.createdBy, record.modifiedBy) = (owner.rawValue, 0)
                    try transaction.put(record)
                    try transaction.insert(ReferenceRow(zone: zone, target: "t", kind: .parent, source: "r"))
                    // The account's shared database has zones of other owners.
                    let shared = OwnerID(rawValue: -owner.rawValue)
                    for key in [zone, ZoneKey(owner: shared, id: zone.id), ZoneKey(owner: owner, id: 0)] {
                        try putTasks(of: key, account: owner.rawValue, in: transaction)
                    }
                }
                return zone
            }
            let none = try await engine.read { try ($0.rowsWithoutZone(limit: 9), $0.rowsWithoutAccount(limit: 9)) }
            try expect(none.0 + none.1, equals: [])
            // A missing zone, and a zone of another owner. The missing accounts follow below.
            let strays = [ZoneKey(owner: zone.owner, id: 77), ZoneKey(owner: OwnerID(rawValue: 55), id: zone.id)]
            try await engine.write { transaction in
                for (index, stray) in strays.enumerated() {
                    for name in ["x", "y"] {
                        var record = RecordRow.sample(stray, name, sequence: try transaction.nextSequence())
                        (record.createdBy, record.modifiedBy) = (index == 0 ? 66 : 0, zone.owner.rawValue)
                        try transaction.put(record)
                    }
                }
                _ = try transaction.insertZone(
                    owner: OwnerID(rawValue: 88), name: "Z", sequence: transaction.nextSequence())
                try putTasks(of: strays[0], account: zone.owner.rawValue, in: transaction)
                try putTasks(
                    of: ZoneKey(owner: OwnerID(rawValue: -99), id: zone.id), account: 44, in: transaction)
            }
            let found = try await engine.read { try ($0.rowsWithoutZone(limit: 99), $0.rowsWithoutAccount(limit: 99)) }
            try expect(
                Set(found.0),
                equals: Set(
                    strays.map {
                        StrayRows(table: "record", column: "zone", id: $0.id, owner: $0.owner.rawValue, count: 2)
                    }
                        + ["job", "change_event", "subscription"].map {
                            StrayRows(table: $0, column: "zone", id: 77, owner: zone.owner.rawValue, count: 1)
                        }))
            try expect(
                Set(found.1),
                equals: [
                    StrayRows(table: "record", column: "created_by", id: 66, owner: nil, count: 2),
                    StrayRows(table: "zone", column: "owner", id: 88, owner: nil, count: 1),
                    StrayRows(table: "job", column: "owner", id: 99, owner: nil, count: 1),
                    StrayRows(table: "change_event", column: "owner", id: 99, owner: nil, count: 1),
                    StrayRows(table: "change_event", column: "origin_account", id: 44, owner: nil, count: 1),
                    StrayRows(table: "subscription", column: "owner", id: 99, owner: nil, count: 1),
                    StrayRows(table: "subscription", column: "account", id: 44, owner: nil, count: 1),
                ])
        },
        .engine("A zone is found by its owner and name") { engine in
            let zone = try await engine.write {
                try $0.insertZone(owner: OwnerID(rawValue: 3), name: "Notes", sequence: $0.nextSequence())
            }
            try expect(zone.name, equals: "Notes")
            try expect(zone.key.owner, equals: OwnerID(rawValue: 3))
            try expect(!zone.isDeleted, "a new zone is live")
            let found = try await engine.read { reader in
                [
                    try reader.zone(owner: OwnerID(rawValue: 3), named: "Notes"),
                    try reader.zone(owner: OwnerID(rawValue: 4), named: "Notes"),
                    try reader.zone(owner: OwnerID(rawValue: 3), named: "notes"),
                ]
            }
            try expect(found, equals: [zone, nil, nil])
        },
        .engine("A zone that was found is found again as it then is") { engine in
            let names = (0..<20).map { "Zone \($0)" } + ["\u{E9}", "e\u{301}", "\u{F900}", "\u{8C48}"]
            let first = try await engine.makeZone(names[0])
            for name in names.dropFirst() { _ = try await engine.makeZone(name) }
            func found(_ order: [String]) async throws -> [[UInt8]?] {
                try await engine.read { reader in
                    try order.map { try reader.zone(owner: .everyone, named: $0).map { Array($0.name.utf8) } }
                }
            }
            // Names that are equal as strings follow each other directly.
            for order in [names, names.reversed(), (names + names).shuffled()] {
                try expect(try await found(order), equals: order.map { Array($0.utf8) })
            }
            func token() async throws -> String? {
                try await engine.read { try $0.zone(owner: .everyone, named: names[0])?.clientChangeToken }
            }
            for value in ["a", "b"] {
                try await engine.write { transaction in
                    let before = try transaction.zone(owner: .everyone, named: names[0])
                    try expect(before?.clientChangeToken != value, "it was not set yet")
                    try transaction.setClientChangeToken(value, zone: first)
                    let after = try transaction.zone(owner: .everyone, named: names[0])
                    try expect(after?.clientChangeToken, equals: value)
                }
                try expect(try await token(), equals: value)
            }
            try await engine.delete(first)
            try expect(try await found([names[0], names[1]]), equals: [nil, Array(names[1].utf8)])
        },
        .engine("Two live zones of an owner never share a name, two owners' zones may") { engine in
            let mine = try await engine.makeZone("Z", owner: OwnerID(rawValue: 1))
            let yours = try await engine.makeZone("Z", owner: OwnerID(rawValue: 2))
            try expect(mine.id != yours.id, "zones have ids of their own")
            try await expect(.constraint, "a second zone of the name") {
                _ = try await engine.makeZone("Z", owner: OwnerID(rawValue: 1))
            }
        },
        .engine("Zones are listed by owner, in the order of their names' bytes") { engine in
            let other = try await engine.makeZone("other", owner: OwnerID(rawValue: 2))
            for name in trickyTexts.shuffled() { _ = try await engine.makeZone(name, owner: OwnerID(rawValue: 1)) }
            let (mine, yours, nobodys) = try await engine.read { reader in
                (
                    try reader.zones(owner: OwnerID(rawValue: 1)), try reader.zones(owner: OwnerID(rawValue: 2)),
                    try reader.zones(owner: OwnerID(rawValue: 3))
                )
            }
            try expect(mine.map(\.name).asBytes, equals: trickyTexts.sortedByBytes().asBytes)
            try expect(yours.map(\.key), equals: [other])
            try expect(nobodys, equals: [])
        },
        .engine("A deleted zone is neither found nor listed") { engine in
            let kept = try await engine.makeZone("Kept")
            let gone = try await engine.makeZone("Gone")
            try await engine.delete(gone)
            let (found, listed) = try await engine.read {
                (try $0.zone(owner: .everyone, named: "Gone"), try $0.zones(owner: .everyone))
            }
            try expect(found, equals: nil)
            try expect(listed.map(\.key), equals: [kept])
        },
        .engine("A zone that is deleted and made again has a new id and none of the old records") { engine in
            var ids: Set<Int64> = []
            for _ in 0..<5 {
                let zone = try await engine.makeZone("Again")
                try expect(ids.insert(zone.id).inserted, "zone id \(zone.id) is new")
                try expect(try await engine.allRecords(zone), equals: [])
                try await engine.save(zone, "r")
                try await engine.delete(zone)
            }
        },
        .engine("Deleting a zone that is not live is refused and changes nothing") { engine in
            let zone = try await engine.makeZone("Z")
            try await expect(.constraint, "another owner's key") {
                try await engine.delete(ZoneKey(owner: OwnerID(rawValue: 9), id: zone.id))
            }
            try await engine.delete(zone)
            try await expect(.constraint, "deleted already") { try await engine.delete(zone) }
            try await expect(.constraint, "never existed") {
                try await engine.delete(ZoneKey(owner: .everyone, id: zone.id + 100))
            }
        },
        .engine("Deleted zones come in the order of their deletion, of one name the last, unless it was made again") {
            engine in
            let owner = OwnerID(rawValue: 1)
            var sequences: [Int64] = []
            for (name, zoneOwner) in [
                ("A", owner), ("B", owner), ("C", OwnerID(rawValue: 2)), ("A", owner), ("é", owner),
                ("e\u{301}", owner),
            ] {
                let zone = try await engine.makeZone(name, owner: zoneOwner)
                sequences.append(
                    try await engine.write { transaction in
                        let sequence = try transaction.nextSequence()
                        try transaction.markZoneDeleted(zone, sequence: sequence, at: 1, reason: 7)
                        return sequence
                    })
            }
            _ = try await engine.makeZone("B", owner: owner)
            for (after, limit, names, expected) in [
                (0, 9, ["A", "é", "e\u{301}"], [3, 4, 5]), (0, 2, ["A", "é"], [3, 4]),
                (sequences[3], 9, ["é", "e\u{301}"], [4, 5]),
            ] {
                let found = try await engine.read { try $0.deletedZones(owner: owner, after: after, limit: limit) }
                try expect(found.map(\.name).asBytes, equals: names.asBytes, "after \(after):")
                try expect(found.allSatisfy { $0.isDeleted && $0.deletionReason == 7 }, "they are deleted")
                try expect(found.map(\.sequence), equals: expected.map { sequences[$0] })
            }
            let last = sequences[5]
            try expect(try await engine.read { try $0.deletedZones(owner: owner, after: last, limit: 9) }, equals: [])
            for (name, expected) in [("A", sequences[3]), ("B", sequences[1]), ("D", nil)] {
                let found = try await engine.read { try $0.lastDeletedZone(owner: owner, named: name) }
                try expect(found?.sequence, equals: expected, "the last \(name):")
            }
        },
        .engine("Live zones come in the order in which they last changed, after the one given") { engine in
            let owner = OwnerID(rawValue: 1)
            let zones = try await ["A", "B", "C"].asyncMap { try await engine.makeZone($0, owner: owner) }
            _ = try await engine.makeZone("D", owner: OwnerID(rawValue: 2))
            let sequence = try await engine.write { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.noteChange(zone: zones[0])
                return sequence
            }
            for (after, limit, names) in [(0, 9, ["B", "C", "A"]), (0, 2, ["B", "C"]), (sequence - 1, 9, ["A"])] {
                let found = try await engine.read { try $0.zones(owner: owner, changedAfter: after, limit: limit) }
                try expect(found.map(\.name), equals: names, "after \(after):")
            }
            try expect(try await engine.read { try $0.completeUpTo(owner: owner) }, equals: sequence)
            let deletion = try await engine.write { transaction in
                let sequence = try transaction.nextSequence()
                try transaction.markZoneDeleted(zones[0], sequence: sequence, at: 1, reason: 0)
                return sequence
            }
            let left = try await engine.read { try $0.zones(owner: owner, changedAfter: 0, limit: 9).map(\.name) }
            try expect(left, equals: ["B", "C"])
            try expect(try await engine.read { try $0.completeUpTo(owner: owner) }, equals: deletion)
            try expect(try await engine.read { try $0.completeUpTo(owner: OwnerID(rawValue: 9)) }, equals: 0)
        },
        StorageCheck("Zone ids are not used again after the store was opened again") { store in
            guard store.keepsData else { return }
            let first = try await store.run { engine in
                let zone = try await engine.makeZone("A")
                try await engine.delete(zone)
                return zone.id
            }
            let second = try await store.run { try await $0.makeZone("A").id }
            try expect(second > first, "zone id \(second) is larger than \(first)")
        },
    ]
}
