import NephosStorage

extension StorageConformance {
    static let requestKeys: [StorageCheck] = [
        .engine("A test of writing leaves no row, also beside others") { engine in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await engine.write { try $0.testWriting() } } }
                try await group.waitForAll()
            }
            try expect(try await engine.read { try $0.countRequestKeys(limit: 9) }, equals: 0)
        },
        .engine("What came of a request is found by its account and key until it is purged") { engine in
            let rows = (1...3).map { number in
                RequestKeyRow(account: 1, key: "k\(number)", digest: [1], outcome: [2, 0], at: Int64(number))
            }
            let other = RequestKeyRow(account: 2, key: "k1", digest: [], outcome: [], at: 9)
            try await engine.write { transaction in for row in rows + [other] { try transaction.insert(row) } }
            try await engine.read { reader in
                for row in rows + [other] {
                    let found = try reader.requestKey(account: row.account, key: row.key, isSure: true)
                    try expect(found, equals: row)
                }
                try expect(try reader.requestKey(account: 3, key: "k1", isSure: true), equals: nil)
                try expect(try reader.requestKeyTime(account: 1, behind: 1), equals: 2)
                try expect(try reader.requestKeyTime(account: 1, behind: 3), equals: nil)
                try expect(try reader.requestKeyTime(account: 2, behind: 0), equals: 9)
                // The outcome of each request has two bytes.
                let beyond = try [0, 1, 2, 5, 6].map { try reader.requestKeyTime(account: 1, beyond: $0, of: 9) }
                try expect(beyond, equals: [3, 3, 2, 1, nil])
                try expect(try reader.requestKeyTime(account: 1, beyond: 5, of: 2), equals: nil)
                try expect(try reader.requestKeyTime(account: 2, beyond: 0, of: 9), equals: nil)
                try expect(try reader.oldestRequestKeyTime(account: 1), equals: 1)
                try expect(try reader.oldestRequestKeyTime(account: 3), equals: nil)
                let accounts = try [.min, 1, 2].map { try reader.requestKeyAccount(after: $0) }
                try expect(accounts, equals: [1, 2, nil])
                try expect(try [3, 4, 5].map { try reader.countRequestKeys(limit: $0) }, equals: [3, 4, 4])
            }
            func purge(_ limit: Int) async throws -> Int {
                try await engine.write { try $0.purgeRequestKeys(account: 1, before: 3, signedBefore: 3, limit: limit) }
            }
            try expect(try await purge(1), equals: 1)
            try expect(try await engine.read { try $0.oldestRequestKeyTime(account: 1) }, equals: 2)
            try expect(try await purge(9), equals: 1)
            try expect(try await engine.read { try $0.countRequestKeys(limit: 9) }, equals: 2)
        },
        .engine("Of two transactions that add what came of one request, one finds the other's") { engine in
            @Sendable func carryOut(_ number: UInt8) async throws -> [UInt8] {
                try await engine.write { transaction in
                    if let known = try transaction.requestKey(account: 1, key: "k", isSure: false) {
                        return known.outcome
                    }
                    try transaction.insert(RequestKeyRow(account: 1, key: "k", digest: [], outcome: [number], at: 1))
                    return [number]
                }
            }
            let outcomes = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for number in 0..<8 { group.addTask { try await carryOut(UInt8(number)) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            try expect(outcomes.count, equals: 1)
        },
        .engine("A job is claimed where it is there, and a change event where nobody told it further") { engine in
            try await engine.write { transaction in
                try transaction.insert(JobRow(kind: "k", zone: ZoneKey(owner: .everyone, id: 1), subject: ""))
                try transaction.insert(
                    ChangeEventRow(
                        zone: ZoneKey(owner: .everyone, id: 1), zoneName: "Z", sequence: try transaction.nextSequence(),
                        originAccount: 0,
                        originClient: "", body: []))
            }
            let (found, number) = try await engine.read { (try $0.jobs(limit: 1).first, try $0.lastChangeEvent()) }
            guard let job = found, let event = number else { return try expect(false, "both are there") }
            let position = SubscriptionPosition(recordType: "T", account: 3, id: "s", count: 2)
            try await engine.write { transaction in
                try expect(try transaction.claim(job), "the job is there")
                try transaction.removeJob(id: job.id)
                try expect(try transaction.claimChangeEvent(id: event, at: nil), "nobody told it")
                try expect(try !transaction.claimChangeEvent(id: event, at: position), "nobody told it so far")
                var row = ChangeEventRow(
                    zone: ZoneKey(owner: .everyone, id: 1), zoneName: "Z", sequence: 1, originAccount: 0,
                    originClient: "", body: [])
                (row.id, row.position) = (event, position)
                try transaction.update(row)
            }
            try await engine.write { transaction in
                try expect(try !transaction.claim(job), "the job is gone")
                try expect(try !transaction.claimChangeEvent(id: event, at: nil), "it was told further")
                try expect(try transaction.claimChangeEvent(id: event, at: position), "it was told so far")
            }
        },
    ]
}
