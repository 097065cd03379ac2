import NephosStorage

extension StorageConformance {
    static let accounts: [StorageCheck] = [
        .engine("A store has no secret until one is set, and keeps the first") { engine in
            try expect(try await engine.read { try $0.secret() }, equals: nil)
            let secret: [UInt8] = Array(0...31)
            try await engine.write { transaction in
                try transaction.setSecret(secret)
                try expect(try transaction.secret(), equals: secret)
            }
            try await engine.write { try $0.setSecret([1, 2, 3]) }
            try expect(try await engine.read { try $0.secret() }, equals: secret)
        },
        .engine("An account is found by its id, its name and its user record's name") { engine in
            let account = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a1") }
            try expect(account.name, equals: "anna")
            try expect(account.userRecordName, equals: "_a1")
            let found = try await engine.read { reader in
                [
                    try reader.account(id: account.id), try reader.account(named: "anna"),
                    try reader.account(userRecordName: "_a1"),
                ]
            }
            try expect(found, equals: [account, account, account])
        },
        .engine("An account that does not exist is nil") { engine in
            let found = try await engine.read { reader in
                [
                    try reader.account(id: 1), try reader.account(id: 0), try reader.account(named: ""),
                    try reader.account(userRecordName: "_"),
                ]
            }
            try expect(found, equals: [nil, nil, nil, nil])
        },
        .engine("Accounts have ids of their own, none of which is everyone's") { engine in
            let ids = try await engine.write { transaction in
                try (1...20).map { try transaction.insertAccount(name: "n\($0)", userRecordName: "_\($0)").id }
            }
            try expect(Set(ids).count, equals: 20)
            try expect(!ids.contains(OwnerID.everyone.rawValue), "no account is everyone")
        },
        .engine("A second account of a name or a user record's name is refused") { engine in
            let anna = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a") }
            try await expect(.constraint, "the same name") {
                _ = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_b") }
            }
            try await expect(.constraint, "the same user record") {
                _ = try await engine.write { try $0.insertAccount(name: "bob", userRecordName: "_a") }
            }
            let found = try await engine.read {
                [try $0.account(named: "anna"), try $0.account(userRecordName: "_b"), try $0.account(named: "bob")]
            }
            try expect(found, equals: [anna, nil, nil])
        },
        .engine("A deleted account keeps its row without its name, which another may have") { engine in
            let anna = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a") }
            let bob = try await engine.write { try $0.insertAccount(name: "bob", userRecordName: "_b") }
            try await engine.write { try $0.markAccountDeleted(id: anna.id) }
            let deleted = AccountRow(id: anna.id, name: "", userRecordName: "_a", isDeleted: true)
            let found = try await engine.read { reader in
                [
                    try reader.account(id: anna.id), try reader.account(userRecordName: "_a"),
                    try reader.account(named: "anna"), try reader.account(named: ""),
                ]
            }
            try expect(found, equals: [deleted, deleted, nil, nil])
            try await expect(.constraint, "deleted twice") {
                try await engine.write { try $0.markAccountDeleted(id: anna.id) }
            }
            try await expect(.constraint, "the same user record") {
                _ = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a") }
            }
            let next = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_c") }
            try expect(next.id != anna.id, "an id is never given again")
            try expect(try await engine.read { try $0.account(named: "anna") }, equals: next)
            try await engine.write { try $0.markAccountDeleted(id: next.id) }
            try expect(try await engine.read { try $0.accounts(after: 0, limit: 10) }, equals: [bob])
        },
        .engine("A renamed account keeps its id and its user record's name, and frees its name") { engine in
            let anna = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_a") }
            let bob = try await engine.write { try $0.insertAccount(name: "bob", userRecordName: "_b") }
            try await engine.write { try $0.renameAccount(id: anna.id, to: "id:1") }
            let renamed = AccountRow(id: anna.id, name: "id:1", userRecordName: "_a")
            let found = try await engine.read { [try $0.account(named: "id:1"), try $0.account(named: "anna")] }
            try expect(found, equals: [renamed, nil])
            try await expect(.constraint, "another account's name") {
                try await engine.write { try $0.renameAccount(id: bob.id, to: "id:1") }
            }
            let next = try await engine.write { try $0.insertAccount(name: "anna", userRecordName: "_c") }
            try await engine.write { try $0.markAccountDeleted(id: next.id) }
            try await expect(.constraint, "a deleted account") {
                try await engine.write { try $0.renameAccount(id: next.id, to: "id:2") }
            }
            try expect(try await engine.read { try $0.accounts(after: 0, limit: 10) }, equals: [renamed, bob])
        },
        .engine("Accounts are listed by id, page by page") { engine in
            let accounts = try await engine.write { transaction in
                try (1...5).map { try transaction.insertAccount(name: "n\($0)", userRecordName: "_\($0)") }
            }
            let first = try await engine.read { try $0.accounts(after: 0, limit: 2) }
            try expect(first, equals: Array(accounts[..<2]))
            try expect(
                try await engine.read { try $0.accounts(after: accounts[1].id, limit: 10) },
                equals: Array(accounts[2...]))
            try expect(try await engine.read { try $0.accounts(after: 0, limit: 0) }, equals: [])
        },
        .engine("Accounts' names are told apart by their bytes") { engine in
            for (index, name) in trickyTexts.enumerated() {
                _ = try await engine.write { try $0.insertAccount(name: name, userRecordName: "_\(index)") }
            }
            for (index, name) in trickyTexts.enumerated() {
                let found = try await engine.read { try $0.account(named: name) }
                try expect(found?.userRecordName, equals: "_\(index)", "account \(name)")
            }
        },
    ]
}
