/// The edits of a simulation's users, from which follows what each account's devices may show in the end.
///
/// An edit replaces another one if its user saw the value of the other, or made it on the same device. In the end each item has
/// the value of an edit that none replaced.
struct EditLedger {
    /// What a user did with an item.
    private struct Edit {
        /// Nil for what all devices agreed on, and for a device that has lost its data since.
        var device: String?
        let item: String
        /// Nil for a deletion.
        let value: String?
        var isReplaced = false
        /// Whether the edit has to have an effect: it may have been lost rightly otherwise.
        var isCertain: Bool
        /// Whether the service has it: another device showed it, or its own synced twice since. An app may resolve a conflict with
        /// the first sync, and send the edit with the second.
        var isSent = false
        /// How often its device has synced since, without a fault.
        var syncs = 0
        /// Whether its device lost what it had not sent.
        var isLost = false
        /// Whether the account's user removed the app's data afterwards.
        var isPurged = false
        /// Whether it was made before all devices last agreed, and is not what they agreed on.
        var isPast = false
    }

    private struct Account {
        var edits: [Edit] = []
        /// Whether an edit was interrupted, so that its effect is unknown.
        var hasUnknownEdit = false
        /// The devices that have not synced since the user removed the app's data.
        var unaware: Set<String> = []
        /// The items that each device showed since it was signed in.
        var known: [String: Set<String>] = [:]

        /// Returns the edit of another device whose effect a device showed; nil if that is not sure.
        func seen(_ item: String, _ contents: [String: String]?, _ device: String) -> Int? {
            guard let contents else { return nil }
            let ofItem = edits.indices.filter { edits[$0].item == item }
            if let value = contents[item] { return ofItem.first { edits[$0].value == value } }
            // Who deleted the item, or never had it, saw no deletion by others.
            let own = ofItem.last { edits[$0].device == device }
            if own.map({ edits[$0].value == nil }) ?? false { return nil }
            guard known[device]?.contains(item) ?? false else { return nil }
            let deletions = ofItem.filter { edits[$0].value == nil && !edits[$0].isReplaced }
            return deletions.count == 1 ? deletions.first : nil
        }
    }

    private var accounts: [String: Account] = [:]

    /// Notes a finished edit.
    /// - Parameter before: what the device showed when it began; nil if that is not known.
    mutating func note(
        _ changes: [String: String?], device: String, account name: String, before: [String: String]?
    ) {
        var account = accounts[name] ?? Account()
        for (item, value) in changes.sorted(by: { $0.key < $1.key }) {
            let seen = account.seen(item, before, device)
            for index in account.edits.indices where account.edits[index].item == item {
                if account.edits[index].device == device || seen == index { account.edits[index].isReplaced = true }
            }
            let isCertain = !account.unaware.contains(device)
            account.edits.append(Edit(device: device, item: item, value: value, isCertain: isCertain))
            account.known[device, default: []].insert(item)
        }
        accounts[name] = account
    }

    /// Notes an edit whose app ended before it returned.
    mutating func noteInterruption(account: String) { accounts[account, default: Account()].hasUnknownEdit = true }

    /// Notes what a device shows.
    mutating func note(contents: [String: String], device: String, account name: String) {
        guard var account = accounts[name] else { return }
        account.known[device, default: []].formUnion(contents.keys)
        // What a device lost it may still show, as its own.
        for index in account.edits.indices
        where account.edits[index].device != device && !account.edits[index].isLost {
            let edit = account.edits[index]
            if let value = edit.value, contents[edit.item] == value { account.edits[index].isSent = true }
        }
        accounts[name] = account
    }

    /// The number of an account's edits so far.
    func count(account: String) -> Int { accounts[account]?.edits.count ?? 0 }

    /// Notes that a device synced without a fault.
    /// - Parameter count: the number of the account's edits when it began.
    mutating func noteSync(device: String, account name: String, edits count: Int) {
        guard var account = accounts[name] else { return }
        account.unaware.remove(device)
        for index in account.edits.indices.prefix(count)
        where account.edits[index].device == device && !account.edits[index].isLost {
            account.edits[index].syncs += 1
            if account.edits[index].syncs > 1 { account.edits[index].isSent = true }
        }
        accounts[name] = account
    }

    /// Notes that an account's user removed the app's data.
    mutating func notePurge(account name: String, devices: [String]) {
        guard var account = accounts[name] else { return }
        // What was not sent is not what the user removed: apps keep it or not.
        for index in account.edits.indices {
            if account.edits[index].isSent { account.edits[index].isPurged = true }
            account.edits[index].isCertain = false
        }
        account.unaware = Set(devices)
        accounts[name] = account
    }

    /// Notes that a device lost what it had not sent: its user signed out, or deleted the app.
    mutating func noteLoss(device: String, account name: String) {
        guard var account = accounts[name] else { return }
        for index in account.edits.indices
        where account.edits[index].device == device && !account.edits[index].isSent && !account.edits[index].isPast {
            account.edits[index].isCertain = false
            account.edits[index].isLost = true
            // Who edited what was lost replaced nothing of others.
            account.edits[index].isReplaced = account.edits[index].isReplaced && account.edits[index].value != nil
            for other in account.edits.indices
            where account.edits[other].item == account.edits[index].item && !account.edits[other].isPast {
                account.edits[other].isReplaced = account.edits[other].isReplaced && other == index
            }
        }
        // What the device does next, it does without having seen these.
        for index in account.edits.indices where account.edits[index].device == device {
            account.edits[index].device = nil
        }
        account.known[device] = nil
        accounts[name] = account
    }

    /// Notes that all devices of an account agree, and may. From here on nothing earlier comes back, and nothing is uncertain.
    mutating func noteAgreement(account name: String, contents: [String: String]) {
        guard var account = accounts[name] else { return }
        for index in account.edits.indices {
            account.edits[index].isReplaced = true
            account.edits[index].isPast = true
        }
        for item in Set(account.edits.map(\.item)).union(contents.keys).sorted() {
            account.edits.append(
                Edit(device: nil, item: item, value: contents[item], isCertain: true, isSent: true))
        }
        account.hasUnknownEdit = false
        accounts[name] = account
    }

    // MARK: The end

    /// An outcome that no order of the edits explains.
    struct Problem {
        let kind: SimulationFailure.Kind
        let item: String
        let value: String?
        /// The values of the edits that no later one replaced.
        let edits: [String?]
        let text: String
    }

    /// Returns what is wrong with what an account's devices show.
    func problems(account name: String, contents: [String: String]) -> [Problem] {
        let account = accounts[name] ?? Account()
        let items = Set(contents.keys).union(account.edits.map(\.item)).sorted()
        return items.compactMap { problem($0, contents[$0], account, name) }
    }

    private func problem(_ item: String, _ value: String?, _ account: Account, _ name: String) -> Problem? {
        let edits = account.edits.filter { $0.item == item }
        let last = edits.filter { !$0.isReplaced && !$0.isPurged }
        let isPurged = edits.contains(where: \.isPurged)
        func make(_ kind: SimulationFailure.Kind, _ text: String) -> Problem {
            Problem(kind: kind, item: item, value: value, edits: last.map(\.value), text: text)
        }
        guard let value else {
            let mayBeGone =
                last.contains { $0.value == nil } || !last.contains(where: \.isCertain) || account.hasUnknownEdit
            guard !mayBeGone else { return nil }
            let lost = last.compactMap(\.value).map(\.debugDescription).joined(separator: " or ")
            return make(.lostEdit, "'\(item)' is not there: its last edit was \(lost).")
        }
        if last.contains(where: { $0.value == value }) { return nil }
        if !edits.contains(where: { $0.value == value }) {
            if let owner = owner(of: value, item, not: name) {
                return make(.otherAccount, "'\(item)' has \(value.debugDescription), which is \(owner)'s.")
            }
            // An app that never learned whose an unsent edit is sends it as the account that is signed in.
            if account.hasUnknownEdit || isAnywhere(value, item) { return nil }
            return make(.unknownValue, "'\(item)' has \(value.debugDescription), which no edit made.")
        }
        if isPurged, edits.contains(where: { $0.value == value && $0.isPurged }) {
            return make(
                .purgedItem, "'\(item)' has \(value.debugDescription), although the user removed the app's data.")
        }
        if last.isEmpty { return nil }
        if last.allSatisfy({ $0.value == nil }) {
            return make(
                .returnedDeletion, "'\(item)' is there with \(value.debugDescription), although it was deleted.")
        }
        guard last.contains(where: \.isCertain) else { return nil }
        let newest = last.map { $0.value?.debugDescription ?? "a deletion" }.joined(separator: " or ")
        return make(.lostEdit, "'\(item)' has \(value.debugDescription), which \(newest) replaced.")
    }

    private func isAnywhere(_ value: String, _ item: String) -> Bool {
        accounts.values.contains { $0.edits.contains { $0.item == item && $0.value == value } }
    }

    private func owner(of value: String, _ item: String, not name: String) -> String? {
        accounts.keys.sorted().first { other in
            other != name
                && accounts[other]?.edits.contains { $0.item == item && $0.value == value && $0.isSent } ?? false
        }
    }
}
