import NephosStorage

extension StorageConformance {
    static let shares: [StorageCheck] = [
        .engine("A share is found by id, GUID, record and root, and is not by the middle two once it ended") { engine in
            let zone = try await engine.makeZone()
            var share = ShareRow.sample(zone, 7, root: "root")
            try await engine.write { [share] in try $0.put(share) }
            try expect(try await engine.read { try $0.share(id: 7) }, equals: share)
            try expect(try await engine.read { try $0.share(guid: "guid 7") }, equals: share)
            try expect(try await engine.read { try $0.share(zone: zone, named: "share 7") }, equals: share)
            try expect(try await engine.read { try $0.lastShare(zone: zone, root: "root") }, equals: share)
            try expect(try await engine.read { try $0.shares(zone: zone, limit: 9) }, equals: [share])
            share.endedAt = 9
            share.publicPermission = 3
            share.allowsRequests = true
            try await engine.write { [share] in try $0.put(share) }
            try expect(try await engine.read { try $0.share(id: 7) }, equals: share)
            try expect(try await engine.read { try $0.share(guid: "guid 7") }, equals: nil)
            try expect(try await engine.read { try $0.share(zone: zone, named: "share 7") }, equals: nil)
            try expect(try await engine.read { try $0.shares(zone: zone, limit: 9) }, equals: [])
            try expect(try await engine.read { try $0.lastShare(zone: zone, root: "root") }, equals: share)
            // The name and the GUID of the ended share can be used again.
            let next = ShareRow(
                id: 11, zone: zone, name: "share 7", root: "root", guid: "guid 7", publicPermission: 1)
            try await engine.write { try $0.put(next) }
            try expect(try await engine.read { try $0.lastShare(zone: zone, root: "root") }, equals: next)
            try expect(try await engine.read { try $0.share(guid: "guid 7") }, equals: next)
        },
        .engine("Participants are a share's, in the order in which they were added, and go one by one") { engine in
            let rows = trickyTexts.enumerated().map { index, name in
                ShareParticipantRow(
                    share: 1, id: name, account: Int64(index), address: name, role: 3, permission: 2, status: 1,
                    addedAt: Int64(100 - index), isApprovedRequester: index % 2 == 0)
            }
            let once = ShareParticipantRow(
                share: 2, id: "a", account: 0, address: "", role: 3, permission: 2, status: 1, addedAt: 1,
                oneTimeGUID: "once")
            try await engine.write { transaction in
                for row in rows + [once] { try transaction.put(row) }
            }
            let found = try await engine.read { try $0.participants(share: 1) }
            try expect(found.map(\.id).asBytes, equals: rows.reversed().map(\.id).asBytes)
            try expect(found.last, equals: rows.first)
            try expect(try await engine.read { try $0.participant(oneTimeGUID: "once") }, equals: once)
            try expect(try await engine.read { try $0.participant(oneTimeGUID: "") }, equals: nil)
            try await engine.write { try $0.removeParticipant(share: 1, id: rows[0].id) }
            try expect(try await engine.read { try $0.participants(share: 1).count }, equals: rows.count - 1)
            try expect(try await engine.read { try $0.participants(share: 2) }, equals: [once])
        },
        .engine("An account's rows in all shares are found by it, and its memberships go in pieces") { engine in
            let zone = try await engine.makeZone()
            let rows = [1, 2, 3].map { share in
                ShareParticipantRow(
                    share: share, id: "p", account: 7, address: "a", role: 3, permission: 2, status: 1, addedAt: 1)
            }
            try await engine.write { transaction in
                for row in rows { try transaction.put(row) }
                for account: Int64 in [0, 8] {
                    var row = rows[0]
                    (row.id, row.account) = ("q\(account)", account)
                    try transaction.put(row)
                }
                for account: Int64 in [7, 8] {
                    for share: Int64 in 1...3 {
                        try transaction.put(MembershipRow(account: account, share: share, zone: zone, joined: 1))
                    }
                }
            }
            try expect(try await engine.read { try $0.participations(account: 7, limit: 9) }, equals: rows)
            try expect(
                try await engine.read { try $0.participations(account: 7, limit: 2) }, equals: Array(rows[..<2]))
            try expect(try await engine.read { try $0.participations(account: 0, limit: 9) }, equals: [])
            try expect(try await engine.write { try $0.purgeMemberships(account: 7, limit: 2) }, equals: 2)
            try expect(try await engine.read { try $0.memberships(account: 7).map(\.share) }, equals: [3])
            try expect(try await engine.write { try $0.purgeMemberships(account: 7, limit: 2) }, equals: 1)
            try expect(try await engine.write { try $0.purgeMemberships(account: 7, limit: 2) }, equals: 0)
            try expect(try await engine.read { try $0.memberships(account: 8).count }, equals: 3)
        },
        .engine("Memberships are listed by account, former ones too, and members by share") { engine in
            let (one, other) = (try await engine.makeZone("One"), try await engine.makeZone("Two"))
            let rows = [
                MembershipRow(account: 1, share: 5, zone: one, joined: 10),
                MembershipRow(account: 1, share: 6, zone: other, joined: 11, left: 12),
                MembershipRow(account: 2, share: 5, zone: one, joined: 13),
            ]
            try await engine.write { transaction in for row in rows { try transaction.put(row) } }
            try expect(try await engine.read { try $0.memberships(account: 1) }, equals: Array(rows[..<2]))
            try expect(try await engine.read { try $0.memberships(account: 1, zone: other) }, equals: [rows[1]])
            try expect(try await engine.read { try $0.members(share: 5) }, equals: [1, 2])
            try expect(try await engine.read { try $0.members(share: 6) }, equals: [])
            try expect(try await engine.read { try $0.membership(account: 1, share: 6) }, equals: rows[1])
            try expect(try await engine.read { try $0.membership(account: 2, share: 6) }, equals: nil)
            try expect(try await engine.read { try $0.isMember(account: 1, zone: one) }, equals: true)
            try expect(try await engine.read { try $0.isMember(account: 1, zone: other) }, equals: false)
            try expect(try await engine.read { try $0.membershipCount(account: 1) }, equals: 1)
            var left = rows[0]
            left.left = 20
            try await engine.write { [left] in try $0.put(left) }
            try expect(try await engine.read { try $0.isMember(account: 1, zone: one) }, equals: false)
            try expect(try await engine.read { try $0.membershipCount(account: 1) }, equals: 0)
            try expect(try await engine.read { try $0.members(share: 5) }, equals: [2])
            try expect(try await engine.read { try $0.memberships(account: 1, zone: one) }, equals: [left])
        },
        .engine("A share's feed has its records in the order of their sequences, and a record is under one share") {
            engine in
            let (zone, other) = (try await engine.makeZone("One"), try await engine.makeZone("Two"))
            try await engine.write { transaction in
                for (index, name) in trickyTexts.enumerated() {
                    try transaction.put(SharedRecordRow.sample(name, Int64(1000 - index), zone))
                }
                try transaction.put(SharedRecordRow.sample("a", 1, other))
                try transaction.put(SharedRecordRow.sample("b", 2, share: 2, zone, goneAt: 5))
            }
            let all = try await engine.read { try $0.sharedRecords(zone: zone, share: 1, after: 0, limit: .max) }
            try expect(all.map(\.name).asBytes, equals: trickyTexts.reversed().asBytes)
            let page = try await engine.read {
                try $0.sharedRecords(zone: zone, share: 1, after: all[2].sequence, limit: 2)
            }
            try expect(page, equals: Array(all[3..<5]))
            try expect(try await engine.read { try $0.lastSharedSequence(zone: zone, share: 1) }, equals: 1000)
            try expect(try await engine.read { try $0.lastSharedSequence(zone: zone, share: 9) }, equals: 0)
            let found = try await engine.read { try $0.sharedRecord(zone: zone, named: "b") }
            try expect(found?.share, equals: 1)
            try await engine.write { transaction in
                // Rows that are read ahead follow the writes.
                try transaction.expectSharedRecords(zone: zone, named: ["b", "none"])
                try expect(try transaction.sharedRecord(zone: zone, named: "b")?.share, equals: 1)
                try expect(try transaction.sharedRecord(zone: zone, named: "b", share: 2)?.goneAt, equals: 5)
                try expect(try transaction.sharedRecord(zone: zone, named: "none"), equals: nil)
                try transaction.put(SharedRecordRow.sample("none", 1500, zone))
                try expect(try transaction.sharedRecord(zone: zone, named: "none")?.sequence, equals: 1500)
                try transaction.put(SharedRecordRow.sample("none", 1500, zone, goneAt: 5))
                try transaction.put(SharedRecordRow.sample("b", 2000, zone, goneAt: 5))
                try expect(try transaction.sharedRecord(zone: zone, named: "b"), equals: nil)
                try expect(try transaction.sharedRecord(zone: zone, named: "b", share: 1)?.sequence, equals: 2000)
            }
            try expect(try await engine.read { try $0.sharedRecord(zone: zone, named: "b") }, equals: nil)
            let last = try await engine.read { try $0.sharedRecords(zone: zone, share: 1, after: 1500, limit: 9) }
            try expect(last, equals: [SharedRecordRow.sample("b", 2000, zone, goneAt: 5)])
        },
        .engine("A share's live records of a type are read by name, as many as have room") { engine in
            let (zone, other) = (try await engine.makeZone("One"), try await engine.makeZone("Two"))
            try await engine.write { transaction in
                func put(_ name: String, _ type: String, share: Int64, _ zone: ZoneKey, goneAt: Int64 = 0) throws {
                    let sequence = try transaction.nextSequence()
                    let fields = #"{"a":"0123456789"}"#
                    try transaction.put(.sample(zone, name, sequence: sequence, type: type, fields: fields))
                    try transaction.put(
                        SharedRecordRow(
                            zone: zone, share: share, name: name, type: type, entered: 1, sequence: sequence,
                            goneAt: goneAt))
                }
                for name in ["d", "b", "a", "c"] { try put(name, "Note", share: 1, zone) }
                try put("e", "Note", share: 1, zone, goneAt: 5)
                try put("f", "Other", share: 1, zone)
                try put("g", "Note", share: 2, zone)
                try put("h", "Note", share: 1, other)
            }
            func names(after name: String, limit: Int, size: Int = .max) async throws -> [String] {
                try await engine.read {
                    try $0.liveSharedRecords(
                        zone: zone, share: 1, type: "Note", after: name, limit: limit, size: size
                    ).map(\.name)
                }
            }
            try expect(try await names(after: "", limit: 9), equals: ["a", "b", "c", "d"])
            try expect(try await names(after: "a", limit: 2), equals: ["b", "c"])
            try expect(try await names(after: "", limit: 9, size: 1), equals: ["a"])
            try expect(try await names(after: "", limit: 9, size: 20), equals: ["a", "b"])
            try expect(try await names(after: "d", limit: 9), equals: [])
        },
        .engine("With a deleted zone's records goes what was shared of it, and with the zone its shares") { engine in
            let zone = try await engine.makeZone()
            let kept = try await engine.makeZone("Kept")
            for (zone, id) in [(zone, 1), (kept, 2)] as [(ZoneKey, Int64)] {
                try await engine.write { transaction in
                    try transaction.put(ShareRow.sample(zone, id, root: ""))
                    try transaction.put(MembershipRow(account: 1, share: id, zone: zone, joined: 1))
                    for name in ["a", "b", "c"] {
                        try transaction.put(
                            SharedRecordRow(
                                zone: zone, share: id, name: name, type: "T", entered: 1,
                                sequence: try transaction.nextSequence()))
                    }
                }
            }
            try await engine.delete(zone)
            while try await engine.write({ try $0.purgeRecords(zone: zone, limit: 2) }) >= 2 {}
            let left = try await engine.read { try $0.sharedRecords(zone: zone, share: 1, after: 0, limit: 9) }
            try expect(left, equals: [])
            try expect(try await engine.read { try $0.memberships(account: 1).count }, equals: 2)
            _ = try await engine.write { try $0.forgetZones(deletedBefore: 2, limit: 9) }
            try expect(try await engine.read { try $0.share(id: 1) }, equals: nil)
            try expect(try await engine.read { try $0.memberships(account: 1).map(\.share) }, equals: [2])
            let others = try await engine.read { try $0.sharedRecords(zone: kept, share: 2, after: 0, limit: 9) }
            try expect(others.count, equals: 3)
            try expect(try await engine.read { try $0.zone(kept)?.name }, equals: "Kept")
            try expect(try await engine.read { try $0.zone(zone) }, equals: nil)
            // The service cannot report the end of an expired share to its participants, so their accounts have a
            // purged membership.
            try expect(try await engine.read { try $0.membershipsForgotten(account: 1) } > 0, equals: true)
            try expect(try await engine.read { try $0.membershipsForgotten(account: 2) }, equals: 0)
        },
        .engine("What left a share is purged, the oldest first, and the share keeps up to which sequence") { engine in
            let zone = try await engine.makeZone()
            try await engine.write { transaction in
                try transaction.put(ShareRow.sample(zone, 1, root: "root"))
                for (index, goneAt) in ([30, 10, 0, 40] as [Int64]).enumerated() {
                    try transaction.put(SharedRecordRow.sample("r\(index)", Int64(10 + index), zone, goneAt: goneAt))
                }
            }
            try expect(try await engine.read { try $0.hasSharedRecord(goneBefore: 10) }, equals: false)
            try expect(try await engine.write { try $0.purgeSharedRecords(goneBefore: 35, limit: 1) }, equals: 1)
            try expect(try await engine.read { try $0.share(id: 1)?.purgedUntil }, equals: 11)
            try expect(try await engine.write { try $0.purgeSharedRecords(goneBefore: 35, limit: 9) }, equals: 1)
            // The share keeps the larger sequence.
            try expect(try await engine.read { try $0.share(id: 1)?.purgedUntil }, equals: 11)
            let left = try await engine.read { try $0.sharedRecords(zone: zone, share: 1, after: 0, limit: 9) }
            try expect(left.map(\.name), equals: ["r2", "r3"])
            try expect(
                try await engine.read { try $0.sharedRecord(zone: zone, named: "r3", share: 1)?.goneAt }, equals: 40)
            try expect(try await engine.read { try $0.sharedRecord(zone: zone, named: "r0", share: 1) }, equals: nil)
            try await engine.write { try $0.noteReentry(share: 1, leftAt: 9) }
            try await engine.write { try $0.noteReentry(share: 1, leftAt: 5) }
            try expect(try await engine.read { try $0.share(id: 1)?.reenteredAt }, equals: 9)
            // Writing a share does not change the values that purges have stored.
            try await engine.write { try $0.put(ShareRow.sample(zone, 1, root: "root")) }
            try expect(try await engine.read { try $0.share(id: 1)?.purgedUntil }, equals: 11)
            try expect(try await engine.read { try $0.share(id: 1)?.reenteredAt }, equals: 9)
        },
        .engine("A share that ended long ago is purged, but for the last one of a root that is there") { engine in
            let zone = try await engine.makeZone()
            try await engine.save(zone, "root")
            try await engine.write { transaction in
                for (id, root, endedAt) in [(1, "root", 5), (2, "root", 6), (3, "gone", 7), (4, "live", 0)]
                    as [(Int64, String, Int64)]
                {
                    var share = ShareRow.sample(zone, id, root: root)
                    (share.endedAt, share.endedTime) = (endedAt, endedAt * 10)
                    try transaction.put(share)
                    try transaction.put(MembershipRow(account: id, share: id, zone: zone, joined: 1, left: endedAt))
                    for name in ["a", "b", "c"] {
                        try transaction.put(SharedRecordRow.sample(name, id * 100, share: id, zone))
                    }
                }
            }
            try expect(try await engine.read { try $0.hasShare(endedBefore: 50) }, equals: false)
            var steps = 0
            while try await engine.read({ try $0.hasShare(endedBefore: 1000) }) {
                try expect(
                    try await engine.write { try $0.purgeShares(endedBefore: 1000, limit: 2) } <= 2, equals: true)
                steps += 1
            }
            try expect(steps, equals: 6)
            try expect(try await engine.read { try $0.share(id: 1) }, equals: nil)
            try expect(try await engine.read { try $0.lastShare(zone: zone, root: "root")?.purgedUntil }, equals: 6)
            try expect(try await engine.read { try $0.lastShare(zone: zone, root: "gone") }, equals: nil)
            for (account, forgotten) in [(1, 5), (2, 6), (3, 7), (4, 0)] as [(Int64, Int64)] {
                let count = try await engine.read { try $0.memberships(account: account).count }
                try expect(count, equals: account == 4 ? 1 : 0)
                try expect(
                    try await engine.read { try $0.membershipsForgotten(account: account) }, equals: forgotten)
            }
            let live = try await engine.read { try $0.sharedRecords(zone: zone, share: 4, after: 0, limit: 9) }
            try expect(live.count, equals: 3)
        },
        .engine("An account's rows of a share are found, and whether a zone has a job of a kind") { engine in
            let (zone, other) = (try await engine.makeZone("One"), try await engine.makeZone("Two"))
            try await engine.write { transaction in
                for (id, account) in [("a", 1), ("b", 2), ("c", 2)] as [(String, Int64)] {
                    try transaction.put(
                        ShareParticipantRow(
                            share: 1, id: id, account: account, address: "", role: 3, permission: 2, status: 1,
                            addedAt: 1))
                }
                try transaction.insert(JobRow(kind: "move", zone: zone, subject: "x"))
            }
            let rows = try await engine.read { try $0.participants(share: 1, account: 2) }
            try expect(rows.map(\.id), equals: ["b", "c"])
            try expect(try await engine.read { try $0.participants(share: 2, account: 2) }, equals: [])
            try expect(try await engine.read { try $0.hasJob("move", zone: zone) }, equals: true)
            try expect(try await engine.read { try $0.hasJob("other", zone: zone) }, equals: false)
            try expect(try await engine.read { try $0.hasJob("move", zone: other) }, equals: false)
        },
        .engine("A zone of another's is found with what an account has to do with its shares") { engine in
            let owner = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a") }
            let zone = try await engine.makeZone("Z", owner: owner.owner)
            let other = try await engine.makeZone("Other", owner: owner.owner)
            func participant(_ share: Int64, _ id: String, _ account: Int64) -> ShareParticipantRow {
                ShareParticipantRow(
                    share: share, id: id, account: account, address: "\(account)@b", role: 3, permission: 2, status: 1,
                    addedAt: 1)
            }
            let shares = [
                ShareRow.sample(zone, 1, root: "a"), .sample(zone, 2, root: "b"), .sample(zone, 3, root: "c"),
                .sample(other, 4, root: "d"),
            ]
            // The account has no row in the third share, and the fifth share does not exist.
            let memberships = [(1, zone, 0), (2, zone, 9), (3, zone, 0), (4, other, 0), (5, zone, 9)].map {
                MembershipRow(account: 7, share: $0.0, zone: $0.1, joined: 5, left: $0.2)
            }
            let participants = [
                participant(1, "y", 7), participant(1, "x", 7), participant(1, "z", 8), participant(2, "x", 7),
                participant(3, "x", 8), participant(4, "x", 7),
            ]
            try await engine.write { transaction in
                for row in shares { try transaction.put(row) }
                for row in memberships { try transaction.put(row) }
                for row in participants { try transaction.put(row) }
                try transaction.insert(JobRow(kind: "move", zone: zone, subject: "x"))
            }
            func find(
                _ name: String, _ owner: String, _ account: Int64, _ kind: String = "move"
            ) async throws -> ParticipantZone? {
                try await engine.read {
                    try $0.participantZone(named: name, owner: owner, account: account, job: kind)
                }
            }
            let found = try await find("Z", "_a", 7)
            try expect(found?.owner, equals: owner)
            try expect(found?.zone, equals: try await engine.read { try $0.zone(owner: owner.owner, named: "Z") })
            try expect(found?.hasJob, equals: true)
            try expect(found?.parts.map(\.share), equals: Array(shares[..<2]))
            try expect(found?.parts.map(\.membership), equals: Array(memberships[..<2]))
            try expect(
                found?.parts.map(\.participants), equals: [[participants[1], participants[0]], [participants[3]]])
            try expect(try await find("Z", "_a", 7, "other")?.hasJob, equals: false)
            try expect(try await find("Other", "_a", 7)?.parts.count, equals: 1)
            for (name, owner, account) in [("z", "_a", 7), ("Z", "_b", 7), ("Z", "_a", 9)] as [(String, String, Int64)]
            {
                try expect(try await find(name, owner, account), equals: nil)
            }
            try await engine.write { try $0.markAccountDeleted(id: owner.id) }
            try expect(try await find("Z", "_a", 7), equals: nil)
        },
    ]
}

extension ShareRow {
    fileprivate static func sample(_ zone: ZoneKey, _ id: Int64, root: String) -> ShareRow {
        ShareRow(id: id, zone: zone, name: "share \(id)", root: root, guid: "guid \(id)", publicPermission: 1)
    }
}

extension SharedRecordRow {
    fileprivate static func sample(
        _ name: String, _ sequence: Int64, share: Int64 = 1, _ zone: ZoneKey, goneAt: Int64 = 0
    ) -> SharedRecordRow {
        SharedRecordRow(
            zone: zone, share: share, name: name, type: "Note", entered: 1, sequence: sequence, goneAt: goneAt)
    }
}
