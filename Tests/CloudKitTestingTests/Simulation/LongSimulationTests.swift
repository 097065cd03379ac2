import CloudKit
import Foundation
import Synchronization
import Testing

@testable import CloudKitTesting

/// The memory of a simulation does not grow with its steps.
@Suite struct LongSimulationTests {
    /// Counts the apps that exist.
    private final class Count: Sendable {
        private let state = Mutex((now: 0, most: 0))
        var most: Int { state.withLock { $0.most } }

        func add(_ number: Int) {
            state.withLock { state in
                state.now += number
                state.most = max(state.most, state.now)
            }
        }
    }

    private actor WaitingApp: SimulatedApp {
        private let count: Count
        private let container = CKContainer.default()

        init(_ count: Count) {
            self.count = count
            count.add(1)
        }

        deinit { count.add(-1) }

        func edit(using random: inout SimulationRandom) async throws -> [String: String?] { [:] }
        func sync() async throws { _ = try await container.userRecordID() }
        var contents: [String: String] { [:] }
    }

    @Test func `what waits of apps that ended long ago is let go`() async throws {
        let count = Count()
        let simulation = Simulation(seed: 1, devices: ["phone"]) { _ in WaitingApp(count) }
        try await simulation.replay((0..<300).flatMap { _ in [.sync("phone"), .crash("phone")] })
        #expect(100..<200 ~= count.most, "\(count.most)")
    }

    @Test func `a former app finds the directory of its own launch`() async throws {
        let disks = Box<[URL]>([])
        let simulation = Simulation(seed: 1, devices: ["phone"]) { device in
            let disk = try device.diskDirectory
            let file = disk.appendingPathComponent("launches")
            let earlier = (try? Data(contentsOf: file)) ?? Data()
            #expect(earlier.count == disks.value.count)
            try (earlier + [1]).write(to: file)
            for disk in disks.value { try Data("late".utf8).write(to: disk.appendingPathComponent("launches")) }
            disks.value.append(disk)
            return WaitingApp(Count())
        }
        try await simulation.replay([.crash("phone"), .crash("phone")])
        #expect(Set(disks.value).count == 3)
    }

    @Test func `a trace keeps its last lines, and of those before the hash`() {
        func trace(_ first: String) -> SimulationTrace {
            var trace = SimulationTrace(3)
            for line in [first] + (2...100).map(String.init) { trace.append(line) }
            return trace
        }
        let lines = trace("1").lines
        #expect(lines.first?.hasPrefix("\(101 - lines.count) lines before, with the hash ") == true, "\(lines)")
        #expect(3...5 ~= lines.count - 1 && lines.last == "100")
        #expect(lines == trace("1").lines)
        #expect(lines != trace("one").lines)
    }

    private func ledger(rounds: Int) -> EditLedger {
        var ledger = EditLedger()
        let account = EditLedger.Audience.account("mei")
        for round in 0..<rounds {
            let (old, new) = ("item \(round - 1)", "item \(round)")
            ledger.note([old: nil, new: "first"], device: "phone", account: "mei", before: [old: "second"])
            ledger.note([new: "second"], device: "phone", account: "mei", before: [new: "first"])
            ledger.noteAgreement(account, contents: [new: "second"])
        }
        return ledger
    }

    @Test(arguments: ["an answer is lost", "no answer is lost", "the token expires first"])
    func `a deleted item may return after its save's answer was lost and then the token expired`(order: String) {
        var ledger = EditLedger()
        ledger.note(["item": "text"], device: "pad", account: "mei", before: [:])
        if order == "the token expires first" { ledger.noteExpiredToken(device: "pad", account: "mei") }
        if order != "no answer is lost" { ledger.noteLostAnswer(device: "pad", account: "mei") }
        if order != "the token expires first" { ledger.noteExpiredToken(device: "pad", account: "mei") }
        ledger.note(ShownItems(contents: ["item": "text"], shares: [:]), device: "phone", account: "mei")
        ledger.note(["item": nil], device: "phone", account: "mei", before: ["item": "text"])
        #expect(
            ledger.problems(.account("mei"), contents: ["item": "text"]).map(\.kind)
                == (order == "an answer is lost" ? [] : [.returnedDeletion]))
    }

    @Test(arguments: [false, true])
    func `a purged item may return whose save was not acknowledged`(isAcknowledged: Bool) {
        var ledger = EditLedger()
        ledger.note(["item": "text"], device: "pad", account: "mei", before: [:])
        if !isAcknowledged { ledger.noteLostAnswer(device: "pad", account: "mei") }
        ledger.note(ShownItems(contents: ["item": "text"]), device: "phone", account: "mei")
        ledger.notePurge(account: "mei", isWhole: true, devices: ["pad", "phone"], all: ["pad", "phone"])
        #expect(
            ledger.problems(.account("mei"), contents: ["item": "text"]).map(\.kind)
                == (isAcknowledged ? [.purgedItem] : []))
    }

    @Test(arguments: [false, true])
    func `an item of a share whose owner removed it may be gone, if its device did not know`(knows: Bool) {
        var ledger = EditLedger()
        ledger.note(ShownItems(shares: ["list": []]), device: "phone", account: "tom")
        ledger.note(ShownItems(shares: ["list": []]), device: "pad", account: "mei")
        ledger.notePurge(account: "mei", isWhole: true, devices: ["pad"], all: ["pad", "phone"])
        if knows { ledger.noteSync(device: "phone", account: "tom", edits: 0) }
        ledger.note(["item": "text"], device: "phone", account: "tom", before: [:])
        ledger.note(
            ShownItems(contents: ["item": "text"], shares: ["list": ["item"]]), device: "phone", account: "tom")
        #expect(ledger.problems(.share("list"), contents: [:]).map(\.kind) == (knows ? [.lostEdit] : []))
    }

    @Test func `edits before all devices agreed are forgotten, and their values are not`() throws {
        var ledger = ledger(rounds: 50)
        let account = EditLedger.Audience.account("mei")
        #expect(ledger.books[account]?.edits.count == 1)
        func kinds(_ contents: [String: String]) -> [SimulationFailure.Kind] {
            ledger.problems(account, contents: contents).map(\.kind)
        }
        #expect(kinds(["item 49": "second"]) == [])
        #expect(kinds(["item 49": "first"]) == [.lostEdit])
        #expect(kinds(["item 49": "second", "item 7": "second"]) == [.returnedDeletion])
        #expect(kinds(["item 49": "third"]) == [.unknownValue])
        // Nobody knows what an edit did that was interrupted, and what came before it is known.
        ledger.noteInterruption(account: "mei")
        #expect(kinds(["item 49": "first"]) == [.lostEdit])
        #expect(kinds(["item 49": "third"]) == [])
    }
}
