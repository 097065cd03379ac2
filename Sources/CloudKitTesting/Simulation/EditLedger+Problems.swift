extension EditLedger {
    /// An outcome that no order of the edits explains.
    struct Problem {
        let kind: SimulationFailure.Kind
        let item: String
        let value: String?
        /// The values of the edits that no later one replaced.
        let edits: [String?]
        let text: String
    }

    /// Returns the problems of the contents of an audience's devices.
    /// - Parameter contents: the items of the audience, as a device shows them.
    func problems(_ audience: Audience, contents: [String: String]) -> [Problem] {
        let book = books[audience] ?? Book()
        let items = Set(contents.keys).union(book.edits.map(\.item)).sorted()
        return items.compactMap { problem($0, contents[$0], book, audience) }
    }

    private func problem(_ item: String, _ value: String?, _ book: Book, _ audience: Audience) -> Problem? {
        let edits = book.edits.filter { $0.item == item }
        let last = edits.filter { !$0.isReplaced && !$0.isPurged }
        let isPurged = edits.contains(where: \.isPurged)
        func make(_ kind: SimulationFailure.Kind, _ text: String) -> Problem {
            Problem(kind: kind, item: item, value: value, edits: last.map(\.value), text: text)
        }
        guard let value else {
            let mayBeGone =
                last.contains { $0.value == nil } || !last.contains(where: \.isCertain) || book.hasUnknownEdit
            guard !mayBeGone else { return nil }
            let lost = last.compactMap(\.value).map(\.debugDescription).joined(separator: " or ")
            return make(.lostEdit, "'\(item)' is not there: its last edit was \(lost).")
        }
        if last.contains(where: { $0.value == value }) { return nil }
        let past = book.past(item, value)
        if past == nil, !edits.contains(where: { $0.value == value }) {
            if let owner = owner(of: value, item, not: audience) {
                return make(.otherAccount, "'\(item)' has \(value.debugDescription), which is \(owner)'s.")
            }
            // An app that had not synced, and so never learned whose an edit is, sends it as the account that is signed in.
            if book.hasUnknownEdit || isAnywhere(value, item) { return nil }
            return make(.unknownValue, "'\(item)' has \(value.debugDescription), which no edit made.")
        }
        let mayReturn = edits.contains { $0.value == value && $0.mayReturn }
        if isPurged, past?.isSent ?? false || !mayReturn && edits.contains(where: { $0.value == value && $0.isPurged })
        {
            return make(
                .purgedItem, "'\(item)' has \(value.debugDescription), although the user removed the app's data.")
        }
        // Of an item that was gone when all devices last agreed there is no edit.
        if last.isEmpty, !edits.isEmpty { return nil }
        if last.allSatisfy({ $0.value == nil }) {
            if mayReturn { return nil }
            return make(
                .returnedDeletion, "'\(item)' is there with \(value.debugDescription), although it was deleted.")
        }
        guard last.contains(where: \.isCertain) else { return nil }
        let newest = last.map { $0.value?.debugDescription ?? "a deletion" }.joined(separator: " or ")
        return make(.lostEdit, "'\(item)' has \(value.debugDescription), which \(newest) replaced.")
    }

    private func isAnywhere(_ value: String, _ item: String) -> Bool {
        books.values.contains { book in
            book.edits.contains { $0.item == item && $0.value == value } || book.past(item, value) != nil
        }
    }

    /// The account whose devices alone may show an item's value.
    private func owner(of value: String, _ item: String, not audience: Audience) -> String? {
        books.compactMap { other, book -> String? in
            guard case .account(let name) = other, other != audience else { return nil }
            let past = book.past(item, value)
            let isKnown =
                past?.isSent ?? false || past?.isOwned ?? false
                || book.edits.contains { $0.item == item && $0.value == value && ($0.isSent || $0.isOwned) }
            return isKnown ? name : nil
        }.min()
    }
}
