import CloudKit
import CloudKitLocal

extension SimulationRun {
    /// Checks what the devices show in the end, and closes the cloud.
    func finish() async -> SimulationOutcome {
        if problem == nil { await conclude() }
        alarm?.cancel()
        for device in devices.values { device.device.discard() }
        cloud.clock.end()
        await cloud.end()
        return SimulationOutcome(
            steps: steps.elements, count: steps.count, trace: trace, problem: problem, notes: notes)
    }

    /// Has every device sync until nothing changes, and checks what they show.
    func conclude() async {
        trace.append("every device is online and syncs")
        for name in simulation.devices {
            devices[name]?.device.isOffline = false
            devices[name]?.launch.endAtEvent(nil)
        }
        for name in simulation.devices { await finish(name) }
        var last: [String: ShownItems] = [:]
        for round in 0..<Self.rounds where problem == nil {
            for name in simulation.devices {
                // What did not get lost has arrived by now.
                while let count = devices[name]?.notifications.count, count > 0, problem == nil {
                    await push(name)
                    await finish(name)
                    if devices[name]?.notifications.count == count { break }
                }
                await sync(name)
                await finish(name)
                await settle()
            }
            await advance(.seconds(60))
            let shown = await contents()
            if shown == last, round > 0, disagreement(shown) == nil { break }
            last = shown
        }
        if problem == nil { await check(last) }
        await checkInvariants()
        for (audience, group) in audiences(last) where problem == nil {
            guard let one = group.first.flatMap({ last[$0] }) else { continue }
            ledger.noteAgreement(audience, contents: items(of: audience, in: one))
        }
    }

    private static let rounds = 8

    private func contents() async -> [String: ShownItems] {
        var shown: [String: ShownItems] = [:]
        for name in simulation.devices {
            let result = await readResult(name)
            shown[name] = try? result?.get()
            if case .failure(let error) = result { report(.invariant, "'\(name)' cannot show its items: \(error)") }
            if let shown = shown[name], let device = devices[name] {
                ledger.note(shown, device: name, account: device.account)
            }
        }
        return shown
    }

    /// Whose devices have to show the same items, each with these devices.
    private func audiences(_ shown: [String: ShownItems]) -> [(EditLedger.Audience, [String])] {
        let groups = Dictionary(grouping: simulation.devices.filter { shown[$0] != nil }) { devices[$0]?.account ?? "" }
        let shares = Set(shown.values.flatMap(\.shares.keys)).sorted()
        return groups.sorted { $0.key < $1.key }.map { (.account($0.key), $0.value) }
            + shares.map { share in
                // An account takes part on all its devices, also on one that did not learn of it.
                let parts = groups.filter { $0.value.contains { shown[$0]?.shares[share] != nil } }
                return (
                    .share(share), simulation.devices.filter { name in parts.values.contains { $0.contains(name) } }
                )
            }
    }

    /// The items of a device that belong to an audience.
    private func items(of audience: EditLedger.Audience, in shown: ShownItems) -> [String: String] {
        shown.contents.filter { item, _ in
            switch audience {
            case .account(let account): ledger.audience(of: item, account: account) == audience
            case .share: ledger.audience(of: item, account: "") == audience
            }
        }
    }

    private func check(_ shown: [String: ShownItems]) async {
        // What is wrong with one device is more telling than that two disagree.
        for (audience, group) in audiences(shown) {
            for name in group {
                guard let items = shown[name].map({ items(of: audience, in: $0) }) else { continue }
                for found in ledger.problems(audience, contents: items) {
                    let permits = await ask(name) {
                        await $0.permits(found.value, for: found.item, edits: found.edits)
                    }
                    if (try? permits?.get()) ?? false { continue }
                    return report(found.kind, "'\(name)': \(found.text)" + lastErrors)
                }
            }
        }
        if let text = disagreement(shown) { report(.divergence, text + lastErrors) }
    }

    private func disagreement(_ shown: [String: ShownItems]) -> String? {
        for (audience, group) in audiences(shown) {
            // An account's devices show the same of its shares too, also of one that has ended.
            func contents(_ name: String) -> [String: String] {
                guard let shown = shown[name] else { return [:] }
                if case .account = audience { return shown.contents }
                return items(of: audience, in: shown)
            }
            guard let first = group.first else { continue }
            let one = contents(first)
            for name in group.dropFirst() {
                let other = contents(name)
                guard other != one else { continue }
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
