import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// An app that sends and fetches everything passes, and each mistake in it is found.
@Suite struct SimulatedDevicesTests {
    private func simulation(
        seed: UInt64, _ mistake: PlainNotes.Mistake? = nil, devices: [String] = ["phone", "pad"],
        accounts: [String] = ["mei"], limits: CloudLimits = .apple
    ) -> Simulation {
        Simulation(seed: seed, devices: devices, accounts: accounts, limits: limits) { try PlainNotes($0, mistake) }
    }

    /// The seeds of a test: as many as `NEPHOS_SIMULATIONS` says.
    private static let seeds = 1...(ProcessInfo.processInfo.environment["NEPHOS_SIMULATIONS"].flatMap(UInt64.init) ?? 4)
    /// The steps of such a test: as many as `NEPHOS_SIMULATION_STEPS` says.
    private static let steps = ProcessInfo.processInfo.environment["NEPHOS_SIMULATION_STEPS"].flatMap { Int($0) } ?? 200

    @Test(arguments: seeds) func `an app that sends and fetches everything passes`(seed: UInt64) async throws {
        try await simulation(seed: seed).run(steps: Self.steps)
    }

    @Test(arguments: seeds) func `three devices of two accounts agree`(seed: UInt64) async throws {
        try await simulation(seed: seed, devices: ["a", "b", "c"], accounts: ["mei", "tom"]).run(steps: 200)
    }

    @Test func `the same seed gives the same trace`() async throws {
        let first = try await simulation(seed: 3, accounts: ["mei", "tom"]).run(steps: 150)
        let second = try await simulation(seed: 3, accounts: ["mei", "tom"]).run(steps: 150)
        #expect(first == second)
        #expect(first != (try await simulation(seed: 4).run(steps: 150)))
    }

    /// Other requests of the library, or of the apps of these tests, give other traces, which replace the recorded ones.
    @Test(arguments: [(UInt64(3), 238, UInt64(13_111_090_004_708_237_061)), (8, 219, 13_342_314_170_898_005_608)])
    func `a seed gives the trace that another machine recorded`(seed: UInt64, count: Int, hash: UInt64) async throws {
        let trace = try await simulation(seed: seed, accounts: ["mei", "tom"]).run(steps: 100)
        // FNV-1a.
        let found = trace.joined(separator: "\n").utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        #expect(trace.count == count && found == hash, "\(trace.count), \(found): \(trace.joined(separator: "\n"))")
    }

    @Test func `the same seed gives the same trace of an app whose records have random names`() async throws {
        let simulation = Simulation(seed: 2, devices: ["phone", "pad"]) { _ in NamelessNotes() }
        #expect(try await simulation.run(steps: 60) == simulation.run(steps: 60))
    }

    @Test func `steps of a device that the simulation does not have are refused`() async throws {
        let error = await #expect(throws: LocalCloudError.self) {
            try await simulation(seed: 1).replay([.edit("phone", 1), .edit("tablet", 1)])
        }
        #expect(error?.description.contains(#".edit("tablet", 1)"#) == true, "\(String(describing: error))")
        for step in [Simulation.Step.signIn("phone", account: "zed"), .purge(account: "zed")] {
            let error = await #expect(throws: LocalCloudError.self) { try await simulation(seed: 1).replay([step]) }
            #expect(error?.description.contains("\(step) is of no account") == true, "\(String(describing: error))")
        }
        #expect(try await simulation(seed: 1).run(steps: -1) == simulation(seed: 1).run(steps: 0))
    }

    /// Returns the first failure of some seeds.
    private func failure(
        _ mistake: PlainNotes.Mistake, accounts: [String] = ["mei"], shrinkingFor patience: Duration = .zero
    ) async throws -> SimulationFailure {
        for seed in UInt64(1)...20 {
            do {
                try await simulation(seed: seed, mistake, accounts: accounts).run(
                    steps: 300, shrinkingFor: patience)
            } catch let failure as SimulationFailure {
                return failure
            }
        }
        throw NothingFound()
    }

    private struct NothingFound: Error {}

    @Test func `an edit that is lost during its note's save is found`() async throws {
        let failure = try await failure(.dropsEditsDuringSaves)
        #expect([.lostEdit, .divergence].contains(failure.kind), "\(failure)")
    }

    @Test func `a lost edit is found and repeated with few steps`() async throws {
        let mistake = PlainNotes.Mistake.dropsFailedSaves
        let failure = try await failure(mistake, shrinkingFor: .seconds(3600))
        #expect([.lostEdit, .divergence].contains(failure.kind), "\(failure)")
        #expect(failure.steps.count <= 12, "\(failure)")
        // The printed steps fail alike.
        let again = await #expect(throws: SimulationFailure.self) {
            try await simulation(seed: failure.seed, mistake).replay(failure.steps)
        }
        #expect(again?.kind == failure.kind)
        #expect(again?.trace == failure.trace)
        #expect(failure.description.contains("try await simulation.replay(["))
        // The mended app passes the same steps.
        try await simulation(seed: failure.seed).replay(failure.steps)
    }

    @Test func `an expired token is found`() async throws {
        let failure = try await failure(.keepsExpiredToken)
        // Without a new token nothing arrives, a purge included.
        #expect([.lostEdit, .divergence, .returnedDeletion, .purgedItem].contains(failure.kind), "\(failure)")
    }

    @Test(arguments: 0...5) func `a request without a token does not fail with an expired one`(passes: Int) async throws
    {
        let start: [Simulation.Step] = [.edit("phone", 1), .sync("phone")] + (0..<passes).map { _ in .pass("phone") }
        func trace(_ step: Simulation.Step) async throws -> [String] {
            try await simulation(seed: 1).replay(start + [step, .finish("phone"), .check])
        }
        var passed = try await trace(.pass("phone"))
        #expect(passed.contains { $0.contains("records/modify: save") })
        let last = try #require(passed.lastIndex { $0.contains(".pass") })
        passed[last] = passed[last].replacing("pass(\"phone\"", with: "fail(\"phone\", .changeTokenExpired")
        #expect(try await trace(.fail("phone", .changeTokenExpired)) == passed)
    }

    @Test func `another account's data is found`() async throws {
        let failure = try await failure(.keepsDataOfOtherAccount, accounts: ["mei", "tom"])
        #expect(failure.kind == .otherAccount, "\(failure)")
    }

    @Test func `failures say in words what an app does`() async throws {
        let words: [(PlainNotes.Mistake, String)] = [
            (.sleepsForEver, "'phone' sleeps without an end."),
            (.asksForEver, "'phone' sends requests without an end: "),
            (.breaksInvariant, "'phone' breaks an invariant of the app: "),
        ]
        for (mistake, text) in words {
            let failure = await #expect(throws: SimulationFailure.self) {
                try await simulation(seed: 1, mistake).replay([
                    .edit("phone", 1), .sync("phone"), .finish("phone"), .sync("phone"), .finish("phone"), .check,
                ])
            }
            #expect(failure?.description.contains(text) == true, "\(String(describing: failure))")
        }
    }

    @Test func `an account signs in on a device of the simulation`() async throws {
        let misspelt = Simulation(seed: 1, devices: ["phone"], accounts: ["mei"], signedIn: ["phnoe": "mei"]) {
            try PlainNotes($0)
        }
        let error = await #expect(throws: LocalCloudError.self) { try await misspelt.run(steps: 1) }
        #expect(error?.description.contains("only its accounts sign in, on its devices") == true)
    }

    /// What happens before the user of a device edits and another one signs in there.
    @Test(
        arguments: [
            ([], isKnown: false), ([.sync("phone"), .finish("phone")], isKnown: true),
            ([.sync("phone"), .finish("phone"), .reinstall("phone")], isKnown: false),
            ([.sync("phone"), .finish("phone"), .reinstall("phone"), .sync("phone"), .finish("phone")], isKnown: true),
            ([.sync("phone"), .finish("phone"), .crash("phone")], isKnown: true),
            (
                [.signIn("phone", account: "tom"), .signIn("phone", account: "mei"), .sync("phone"), .finish("phone")],
                true
            ),
        ] as [([Simulation.Step], isKnown: Bool)])
    func `an unsent edit of another account is found where the app had synced as that account`(
        before: [Simulation.Step], isKnown: Bool
    ) async throws {
        let steps = before + [.edit("phone", 1), .signIn("phone", account: "tom"), .check]
        let simulation = simulation(seed: 1, .keepsDataOfOtherAccount, accounts: ["mei", "tom"])
        do {
            try await simulation.replay(steps)
            #expect(!isKnown)
        } catch let failure as SimulationFailure {
            #expect(isKnown && failure.kind == .otherAccount, "\(failure)")
        }
        try await self.simulation(seed: 1, accounts: ["mei", "tom"]).replay(steps)
    }

    @Test func `an app that waits for ever is found`() async throws {
        var simulation = simulation(seed: 1, .waitsForEver)
        simulation.realTimeLimit = .milliseconds(200)
        let failure = await #expect(throws: SimulationFailure.self) {
            try await simulation.replay([.sync("phone"), .finish("phone"), .sync("phone"), .finish("phone")])
        }
        #expect(failure?.kind == .stuck)
    }

    @Test func `a repetition that differs is reported`() async throws {
        let failure = try await failure(.actsByChance, shrinkingFor: .seconds(5))
        #expect(failure.notes.contains { $0.hasPrefix("A repetition differed at line") }, "\(failure)")
    }

    /// Saves after a minute of its device's clock.
    private actor LateApp: SimulatedApp {
        private let device: CloudDevice
        private var notes: [String: String] = [:]

        init(_ device: CloudDevice) { self.device = device }

        func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
            let text = random.text()
            try await device.clock.sleep(for: .seconds(60))
            notes["note"] = text
            return ["note": text]
        }

        func sync() async throws {}
        var contents: [String: String] { notes }
    }

    @Test func `a pause of an app on its device's clock ends as the simulation advances it`() async throws {
        let simulation = Simulation(seed: 1, devices: ["phone"]) { LateApp($0) }
        let trace = try await simulation.replay([.edit("phone", 1), .advance(59), .advance(1)])
        #expect(trace.firstIndex(of: #"  phone: note = "phone 1""#) == 3, "\(trace)")
        #expect(try await simulation.replay([.edit("phone", 1), .finish("phone")]).contains { $0.contains("note = ") })
    }

    /// A note that both devices have, and an edit of the pad's, of whose sync some requests pass before the user removes the
    /// app's data.
    private func stepsOfPurge(_ passes: Int) -> [Simulation.Step] {
        [
            .edit("phone", 1), .sync("phone"), .finish("phone"), .sync("pad"), .finish("pad"), .edit("pad", 2),
            .sync("pad"),
        ] + Array(repeating: .pass("pad"), count: passes) + [.purge(account: "mei"), .finish("pad"), .check]
    }

    @Test(arguments: 0..<4) func `a purge during a sync leaves nothing, whichever request it precedes`(
        passes: Int
    ) async throws {
        try await simulation(seed: 1).replay(stepsOfPurge(passes))
        let failure = await #expect(throws: SimulationFailure.self) {
            try await ReportedBug.undonePurge.simulation(seed: 1, isMended: false).replay(stepsOfPurge(passes))
        }
        #expect(failure?.kind == .purgedItem)
    }

    @Test func `steps that do not apply do nothing`() async throws {
        let simulation = simulation(seed: 1)
        let steps: [Simulation.Step] = [
            .pass("phone"), .fail("phone", .networkFailure), .lose("pad"), .finish("pad"), .push("phone"),
            .signIn("phone", account: "mei"), .check,
        ]
        let trace = try await simulation.replay(steps)
        #expect(!trace.contains { $0.contains("records/modify") })
    }

    @Test func `a simulation needs devices with different names, and an account`() async throws {
        for simulation in [
            simulation(seed: 1, devices: []), simulation(seed: 1, devices: ["a", "a"]),
            simulation(seed: 1, accounts: []),
        ] {
            await #expect(throws: LocalCloudError.self) { try await simulation.run(steps: 1) }
        }
    }

    @Test func `an app that asks for ever is found`() async throws {
        #expect(try await failure(.asksForEver).kind == .stuck)
    }

    /// Needs real time for a sync.
    private actor SlowApp: SimulatedApp {
        func edit(using random: inout SimulationRandom) async throws -> [String: String?] { [:] }
        func sync() async throws { try await Task.sleep(for: .milliseconds(1100)) }
        var contents: [String: String] { [:] }
    }

    @Test func `a step that took real time is reported though nothing is wrong, and the lines stay the same`()
        async throws
    {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let simulation = Simulation(seed: 5, devices: ["phone"]) { _ in SlowApp() }
            let first = try await simulation.replay([.sync("phone")])
            #expect(try await first == simulation.replay([.sync("phone")]))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(#"Simulation with seed 5: Step 1, .sync("phone"), took "#), "\(text)")
    }

    private actor IdleApp: SimulatedApp {
        func edit(using random: inout SimulationRandom) async throws -> [String: String?] { [:] }
        func sync() async throws {}
        var contents: [String: String] { [:] }
    }

    @Test func `what an app did not await can use its directory after a new installation, which begins empty`()
        async throws
    {
        let installed = Box<[URL]>([])
        let simulation = Simulation(seed: 1, devices: ["phone"]) { device in
            let disk = try device.diskDirectory
            #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).isEmpty)
            installed.value.append(disk)
            for disk in installed.value { try Data("late".utf8).write(to: disk.appendingPathComponent("notes")) }
            return IdleApp()
        }
        try await simulation.replay([.reinstall("phone"), .reinstall("phone")])
        #expect(Set(installed.value).count == 3)
        for disk in installed.value { #expect(!FileManager.default.fileExists(atPath: disk.path)) }
    }
}

/// An app over `CKDatabase` that saves two records at a time, and leaves their names to the library.
private actor NamelessNotes: SimulatedApp {
    private let database = CKContainer.default().privateCloudDatabase
    private(set) var contents: [String: String] = [:]

    func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        let notes = [random.text(), random.text()].map { text in
            let note = CKRecord(recordType: "Note")
            note["text"] = text
            return note
        }
        let saved = try await database.modifyRecords(saving: notes, deleting: []).saveResults
        for result in saved.values { _ = try result.get() }
        return Dictionary(uniqueKeysWithValues: notes.map { ($0.recordID.recordName, $0["text"] as? String) })
    }

    func sync() async throws {
        do {
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
            let found = try await database.records(matching: query).matchResults
            contents = [:]
            for (id, result) in found { contents[id.recordName] = try result.get()["text"] }
        } catch let error as CKError where error.code == .unknownItem {
            contents = [:]
        }
    }
}
