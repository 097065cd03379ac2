import NephosStorage

extension StorageConformance {
    static let schema: [StorageCheck] = [
        .engine("Record types are kept once each, also those without a field") { engine in
            for name in ["B", "A", "B", "é", "e\u{301}"] {
                try await engine.write { try $0.insertRecordType(name) }
            }
            let types = try await engine.read { try $0.recordTypes() }
            try expect(Set(types.asBytes), equals: Set(["A", "B", "é", "e\u{301}"].asBytes))
            try expect(types.count, equals: 4)
        },
        .engine("A field of the schema is added, and written again with another type") { engine in
            try await engine.write { transaction in
                try transaction.put(SchemaFieldRow(recordType: "A", field: "x", type: "STRING"))
                try transaction.put(SchemaFieldRow(recordType: "A", field: "y", type: "INT64"))
                try transaction.put(SchemaFieldRow(recordType: "B", field: "x", type: "BYTES"))
                try transaction.put(SchemaFieldRow(recordType: "A", field: "X", type: "LOCATION"))
            }
            try await engine.write { try $0.put(SchemaFieldRow(recordType: "A", field: "x", type: "DOUBLE")) }
            let fields = try await engine.read { try $0.schemaFields() }
            let expected: Set = [
                SchemaFieldRow(recordType: "A", field: "x", type: "DOUBLE"),
                SchemaFieldRow(recordType: "A", field: "y", type: "INT64"),
                SchemaFieldRow(recordType: "A", field: "X", type: "LOCATION"),
                SchemaFieldRow(recordType: "B", field: "x", type: "BYTES"),
            ]
            try expect(Set(fields), equals: expected)
            try expect(fields.count, equals: 4)
        },
    ]

    static let jobs: [StorageCheck] = [
        .engine("Jobs come oldest first, under ids of their own, until they are removed") { engine in
            let zone = try await engine.makeZone()
            for index in 0..<10 {
                try await engine.write { try $0.insert(JobRow(kind: "purge", zone: zone, subject: "s\(index)")) }
            }
            let first = try await engine.read { try $0.jobs(limit: 4) }
            try expect(first.map(\.subject), equals: ["s0", "s1", "s2", "s3"])
            try expect(first.map(\.kind), equals: Array(repeating: "purge", count: 4))
            try expect(first.map(\.zone), equals: Array(repeating: zone, count: 4))
            try expect(Set(first.map(\.id)).count, equals: 4)
            try await engine.write { transaction in
                try transaction.removeJob(id: first[0].id)
                try transaction.removeJob(id: first[2].id)
                try transaction.removeJob(id: first[2].id)
            }
            let rest = try await engine.read { try $0.jobs(limit: 100) }
            try expect(rest.map(\.subject), equals: ["s1", "s3", "s4", "s5", "s6", "s7", "s8", "s9"])
        },
        .engine("Jobs are also read in the order of their owners, and of one owner the oldest first") { engine in
            for (index, owner) in [3, 1, 3, 2, 1].enumerated() {
                let zone = ZoneKey(owner: OwnerID(rawValue: Int64(owner)), id: 1)
                try await engine.write { try $0.insert(JobRow(kind: "k", zone: zone, subject: "\(owner) \(index)")) }
            }
            var position = JobPosition(owner: OwnerID(rawValue: .min), id: .max)
            var subjects: [String] = []
            while let jobs = try await engine.read({ [position] in try $0.jobs(after: position, limit: 2) })
                as [JobRow]?,
                let last = jobs.last
            {
                subjects += jobs.map(\.subject)
                position = JobPosition(last)
            }
            try expect(subjects, equals: ["1 1", "1 4", "2 3", "3 0", "3 2"])
            let behind = JobPosition(owner: OwnerID(rawValue: 2), id: .max)
            try expect(
                try await engine.read { try $0.jobs(after: behind, limit: 9).map(\.subject) }, equals: ["3 0", "3 2"])
        },
        StorageCheck("A job survives until the store is opened again, and its id is not given twice") { store in
            guard store.keepsData else { return }
            let id = try await store.run { engine in
                try await engine.write {
                    try $0.insert(JobRow(kind: "k", zone: ZoneKey(owner: .everyone, id: 1), subject: "kept"))
                }
                return try unwrap(try await engine.read { try $0.jobs(limit: 1).first?.id }, "a job")
            }
            try await store.run { engine in
                let jobs = try await engine.read { try $0.jobs(limit: 10) }
                try expect(jobs.map(\.subject), equals: ["kept"])
                try await engine.write { transaction in
                    try transaction.removeJob(id: id)
                    try transaction.insert(JobRow(kind: "k", zone: jobs[0].zone, subject: "next"))
                }
                let next = try await engine.read { try $0.jobs(limit: 10) }
                try expect(next.count, equals: 1)
                try expect(next[0].id > id, "id \(next[0].id) is larger than \(id)")
            }
        },
    ]
}
