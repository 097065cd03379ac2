import NephosWire
import Testing

@testable import NephosService

@Suite struct ReferenceTests {
    private func customZone() async throws -> TestDatabase {
        try await TestDatabase(TestCloud()).making(zone: "Z")
    }

    // MARK: Targets

    @Test func `an owner must exist or come in the same batch, in any order`() async throws {
        let database = try await customZone()
        let alone = try await database.modify([.create("item", ["list": .owner("list")])])
        #expect(alone.map(\.summary) == ["error 31"])
        #expect(alone[0].error?.serverErrorCode == .validatingReferenceError)
        let together = try await database.modify([
            .create("item", ["list": .owner("list")]), .create("list", type: "List"),
        ])
        #expect(together.map(\.summary) == ["saved", "saved"])
    }

    @Test func `a plain reference may dangle`() async throws {
        let database = try await customZone()
        #expect(try await database.modify([.create("a", ["friend": .link("nobody")])]).map(\.summary) == ["saved"])
    }

    @Test func `a parent must exist or come in the same batch`() async throws {
        let database = try await customZone()
        #expect(try await database.modify([.create("child", parent: "root")]).map(\.summary) == ["error 31"])
        let both = try await database.modify([.create("child", parent: "root"), .create("root")])
        #expect(both.map(\.summary) == ["saved", "saved"])
        #expect(both[0].record?.parent?.recordName == "root")
    }

    @Test func `a non-atomic save fails if its target fails, transitively`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await database.modify([.create("b")])
        // b exists, so the second b is refused; c then has an owner all the same; d's owner is refused with it.
        let results = try await database.modify([
            .create("d", ["owner": .owner("c")]), .create("c", ["owner": .owner("x")]), .create("b"),
            .create("e", ["owner": .owner("b")]),
        ])
        #expect(results.map(\.summary) == ["error 31", "error 31", "error 14", "saved"])
    }

    @Test func `a reference into another zone is refused whatever its action`() async throws {
        let database = try await customZone()
        for action in [ReferenceValue.Action.none, .deleteSelf] {
            let elsewhere = FieldValue.reference(
                ReferenceValue(
                    recordName: "x", zoneID: ZoneIDDictionary(zoneName: "_defaultZone"), action: action))
            let results = try await database.modify([.create("a", ["r": elsewhere])])
            #expect(results.map(\.summary) == ["error 12"])
            #expect(results[0].error?.reason.contains("'_defaultZone'") == true)
        }
        let here = FieldValue.reference(ReferenceValue(recordName: "x", zoneID: ZoneIDDictionary(zoneName: "Z")))
        #expect(try await database.modify([.create("a", ["r": here])]).map(\.summary) == ["saved"])
    }

    @Test func `a parent reference with another action than NONE is refused`() async throws {
        let database = try await customZone()
        var operation = RecordOperation.create("a")
        operation.record.parent = .set(ReferenceValue(recordName: "root", action: .deleteSelf))
        #expect(try await database.modify([.create("root"), operation]).map(\.summary) == ["error 22", "error 12"])
    }

    // MARK: Deletion

    @Test func `deleting an owner in a custom zone cascades at once, to any depth and through cycles`() async throws {
        let database = try await customZone()
        let saved = try await database.modify([
            .create("list"), .create("item", ["list": .owner("list")]), .create("note", ["item": .owner("item")]),
            .create("bystander", ["list": .link("list")]),
        ])
        #expect(saved.allSatisfy { $0.record != nil })
        _ = try await database.modify([.force("list", ["last": .owner("note")])])
        let results = try await database.modify([.delete("list")])
        #expect(results.map(\.summary) == ["deleted"])
        #expect(try await database.existing("list", "item", "note", "bystander") == ["bystander"])
    }

    @Test func `deleting any one of several owners deletes the record`() async throws {
        let database = try await customZone()
        _ = try await database.modify([
            .create("a"), .create("b"),
            .create("c", ["owners": .list(of: .reference, [.owner("a"), .owner("b")])]),
        ])
        _ = try await database.modify([.delete("b")])
        #expect(try await database.existing("a", "b", "c") == ["a"])
    }

    @Test func `a removed reference no longer owns`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b", ["owner": .owner("a")])])
        _ = try await database.modify([.force("b", ["owner": nil])])
        _ = try await database.modify([.delete("a")])
        #expect(try await database.existing("a", "b") == ["b"])
    }

    @Test func `a dangling plain reference keeps the name of the deleted record`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b", ["friend": .link("a")])])
        _ = try await database.modify([.delete("a")])
        let fields = try #require(try await database.lookup("b")[0].record).fields.decoded()
        #expect(fields["friend"]?.value == .link("a"))
    }

    @Test func `in the default zone owned records are deleted in the background, to any depth`() async throws {
        let database = TestDatabase(TestCloud())
        var operations: [RecordOperation] = [.create("n0")]
        for number in 1...350 {
            // A chain of fifty, and three hundred more under the first.
            let owner = number <= 50 ? "n\(number - 1)" : "n0"
            operations.append(.create("n\(number)", ["owner": .owner(owner)]))
        }
        #expect(try await database.modify(operations).allSatisfy { $0.record != nil })
        _ = try await database.modify([.delete("n0")])
        await database.cloud.service.settle()
        #expect(try await database.existing("n0", "n1", "n2", "n50", "n51", "n200", "n350") == [])
    }

    @Test func `a record cannot be deleted while a remaining record has it as its parent`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("root"), .create("child", parent: "root")])
        let refused = try await database.modify([.delete("root")])
        #expect(refused.map(\.summary) == ["error 31"])
        #expect(try await database.existing("root", "child") == ["root", "child"])
        let together = try await database.modify([.delete("root"), .delete("child")])
        #expect(together.map(\.summary) == ["deleted", "deleted"])
    }

    @Test(arguments: [true, false])
    func `children within a cascade do not hold their parent`(inCustomZone: Bool) async throws {
        let database = inCustomZone ? try await customZone() : TestDatabase(TestCloud())
        _ = try await database.modify([.create("root"), .create("child", ["owner": .owner("root")], parent: "root")])
        #expect(try await database.modify([.delete("root")]).map(\.summary) == ["deleted"])
        await database.cloud.service.settle()
        #expect(try await database.existing("root", "child") == [])
    }

    @Test func `a validating reference needs its target and prevents its deletion`() async throws {
        let database = try await customZone()
        let validating = FieldValue.reference(ReferenceValue(recordName: "a", action: .validate))
        #expect(try await database.modify([.create("b", ["a": validating])]).map(\.summary) == ["error 31"])
        _ = try await database.modify([.create("a"), .create("b", ["a": validating])])
        let refused = try await database.modify([.delete("a")])
        #expect(refused[0].error?.reason.contains("Record delete would violate validating reference") == true)
    }

    @Test func `a record that is saved and loses its owner in one batch is deleted`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b", ["owner": .owner("a")])])
        _ = try await database.modify([.force("b", ["text": .string("x")]), .delete("a")])
        #expect(try await database.existing("a", "b") == [])
        _ = try await database.modify([.create("a"), .create("b", ["owner": .owner("a")])])
        _ = try await database.modify([.force("b", ["owner": nil]), .delete("a")])
        #expect(try await database.existing("a", "b") == ["b"])
    }

    @Test func `a record can be made again after its deletion, and its old children stay deleted`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b", ["owner": .owner("a")])])
        _ = try await database.modify([.delete("a")])
        #expect(try await database.modify([.create("a")]).map(\.summary) == ["saved"])
        #expect(try await database.existing("a", "b") == ["a"])
    }

    @Test func `750 records may be owned by one`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify([.create("list")])
        for start in stride(from: 0, to: 750, by: 150) {
            let items = (start..<start + 150).map { RecordOperation.create("n\($0)", ["list": .owner("list")]) }
            #expect(try await database.modify(items).allSatisfy { $0.record != nil })
        }
        let refused = try await database.modify([.create("one", ["list": .owner("list")])])[0]
        #expect(refused.error?.clientErrorCode == 27)
        #expect(
            refused.error?.reason.hasPrefix("Limit exceeded for number of owning references to single record") == true)
        #expect(try await database.modify([.force("n0", ["x": .int64(1)])])[0].summary == "saved")
        // One goes and one comes.
        let exchanged = try await database.modify([.create("one", ["list": .owner("list")]), .delete("n1")])
        #expect(exchanged.map(\.summary) == ["saved", "deleted"])
    }

    @Test func `in the public database no account uses up the records that another's may own`() async throws {
        let cloud = TestCloud()
        let mine = TestDatabase(cloud, "mei", .public)
        let others = TestDatabase(cloud, "tom", .public)
        _ = try await mine.modify([.create("list")])
        for start in stride(from: 0, to: 750, by: 150) {
            let items = (start..<start + 150).map { RecordOperation.create("n\($0)", ["list": .owner("list")]) }
            #expect(try await others.modify(items).allSatisfy { $0.record != nil })
        }
        let refused = try await others.modify([.create("o1", ["list": .owner("list")])])[0]
        #expect(refused.error?.clientErrorCode == 27)
        let own = try await mine.modify((0..<2).map { .create("m\($0)", ["list": .owner("list")]) })
        #expect(own.map(\.summary) == ["saved", "saved"])
        #expect(
            try await TestDatabase(cloud, "ann", .public).modify([.create("a", ["list": .owner("list")])])[0]
                .summary == "saved")
        // One goes and one comes.
        let exchanged = try await others.modify([.create("o1", ["list": .owner("list")]), .delete("n1")])
        #expect(exchanged.map(\.summary) == ["saved", "deleted"])
    }

    @Test(arguments: ["parent", "VALIDATE"])
    func `in the public database other accounts cannot prevent the deletion of an owner`(kind: String) async throws {
        let cloud = TestCloud()
        let mine = TestDatabase(cloud, "mei", .public)
        let others = TestDatabase(cloud, "tom", .public)
        func pointing(_ name: String) -> RecordOperation {
            if kind == "parent" { return .create(name, parent: "mine") }
            return .create(name, ["target": .reference(ReferenceValue(recordName: "mine", action: .validate))])
        }
        _ = try await mine.modify([.create("mine")])
        #expect(try await others.modify([pointing("theirs")])[0].summary == "saved")
        #expect(try await mine.modify([pointing("own")])[0].summary == "saved")
        // What the owner made holds as it does everywhere.
        #expect(try await mine.modify([.delete("mine")])[0].summary == "error 31")
        #expect(try await mine.modify([.delete("mine"), .delete("own")]).map(\.summary) == ["deleted", "deleted"])
        // The other's record stays, its reference points at nothing, and it can still be saved.
        let left = try #require(try await others.lookup("theirs")[0].record)
        let target = kind == "parent" ? left.parent : try left.fields.decoded().reference("target")
        #expect(target?.recordName == "mine")
        #expect(try await others.modify([.update(left, ["x": .int64(1)])])[0].summary == "saved")
        #expect(try await others.modify([pointing("again")])[0].summary == "error 31")
        #expect(try await mine.modify([.create("mine")])[0].summary == "saved")
        #expect(try await mine.modify([.delete("mine")])[0].summary == "deleted")
    }
}

extension RecordFields {
    fileprivate func reference(_ name: String) -> ReferenceValue? {
        if case .reference(let reference) = self[name]?.value { reference } else { nil }
    }
}
