import CloudKit
import CloudKitLocal

extension SimulationRun {
    /// Checks what the devices show in the end, and closes the cloud.
    func finish() async -> SimulationOutcome {
        if problem == nil { await conclude() }
        for launch in launches { launch.release() }
        for device in devices.values { device.device.discard() }
        cloud.clock.end()
        await cloud.end()
        return SimulationOutcome(steps: steps, trace: trace, problem: problem, notes: notes)
    }

    /// Has every device sync until nothing changes, and checks what they show.
    func conclude() async {
        trace.append("every device is online and syncs")
        for name in simulation.devices {
            devices[name]?.device.isOffline = false
            devices[name]?.launch.endAtEvent(nil)
        }
        for name in simulation.devices { await finish(name) }
        var last: [String: [String: String]] = [:]
        for round in 0..<Self.rounds where problem == nil {
            for name in simulation.devices {
                await sync(name)
                await finish(name)
            }
            await advance(.seconds(60))
            let shown = await contents()
            if shown == last, round > 0, disagreement(shown) == nil { break }
            last = shown
        }
        if problem == nil { await check(last) }
        await checkInvariants()
        for account in simulation.accounts where problem == nil {
            let shown = simulation.devices.lazy.filter { self.devices[$0]?.account == account }.compactMap { last[$0] }
            if let contents = shown.first { ledger.noteAgreement(account: account, contents: contents) }
        }
    }

    private static let rounds = 8

    private func contents() async -> [String: [String: String]] {
        var shown: [String: [String: String]] = [:]
        for name in simulation.devices {
            let result = await readResult(name)
            shown[name] = try? result?.get()
            if case .failure(let error) = result { report(.invariant, "'\(name)' cannot show its items: \(error)") }
        }
        return shown
    }

    private func check(_ shown: [String: [String: String]]) async {
        // What is wrong with one device is more telling than that two disagree.
        for name in simulation.devices {
            guard let device = devices[name], let contents = shown[name] else { continue }
            for found in ledger.problems(account: device.account, contents: contents) {
                let permits = await ask(name) { await $0.permits(found.value, for: found.item, edits: found.edits) }
                if (try? permits?.get()) ?? false { continue }
                return report(found.kind, "'\(name)': \(found.text)" + lastErrors)
            }
        }
        if let text = disagreement(shown) { report(.divergence, text + lastErrors) }
    }

    private func disagreement(_ shown: [String: [String: String]]) -> String? {
        for account in simulation.accounts {
            let group = simulation.devices.filter { devices[$0]?.account == account }
            guard let first = group.first, let one = shown[first] else { continue }
            for name in group.dropFirst() {
                guard let other = shown[name], other != one else { continue }
                let item = Set(one.keys).union(other.keys).sorted().first { one[$0] != other[$0] } ?? ""
                let values = [one[item], other[item]].map { $0?.debugDescription ?? "nothing" }
                return "'\(first)' and '\(name)' disagree about '\(item)': \(values[0]) and \(values[1])."
            }
        }
        return nil
    }

    private var lastErrors: String {
        simulation.devices.compactMap { name in
            devices[name]?.lastError.map { " The last sync of '\(name)' failed: \($0)" }
        }
        .joined()
    }
}
