import NephosCrypto

/// The edits of a simulation's users, from which follows what the devices may show in the end.
///
/// An edit replaces another one if its user saw the value of the other, or made it on the same device. In the end each item has
/// the value of an edit that none replaced.
struct EditLedger {
    /// Whose devices show an item: those of an account, or those of all accounts that take part in a share.
    enum Audience: Hashable {
        case account(String)
        case share(String)
    }

    /// What a user did with an item.
    struct Edit {
        /// Grows from edit to edit.
        let number: Int
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
        /// Whether its device may have saved it without learning of it.
        var isUnacknowledged = false
        /// Whether its device fetched from the beginning before it learned of the save. A deletion by others is then not
        /// reported to it, so that no app can tell whether its save is the first.
        var mayReturn = false
        /// Whether its device lost what it had not sent.
        var isLost = false
        /// Whether the app knew then whose it is: its device had synced as that account.
        var isOwned = false
        /// Whether the account's user removed the app's data afterwards.
        var isPurged = false
    }

    /// An earlier value of an item.
    struct Past {
        /// Whether the service had it.
        private(set) var isSent = false
        /// Whether the app knew whose it is.
        private(set) var isOwned = false

        mutating func add(_ edit: Edit) {
            isSent = isSent || edit.isSent
            isOwned = isOwned || edit.isOwned
        }
    }

    /// The edits of the items of an audience.
    struct Book {
        /// What all devices last agreed on, and the edits since.
        var edits: [Edit] = []
        /// The earlier values, by the hash of the item and the value. Long simulations have many.
        private var past: [UInt64: Past] = [:]
        /// Whether an edit was interrupted, so that its effect is unknown.
        var hasUnknownEdit = false
        /// The devices that have not synced since the user removed the app's data.
        var unaware: Set<String> = []
        /// The items that each device showed since it was signed in.
        var known: [String: Set<String>] = [:]

        /// A value before all devices last agreed; nil if no edit had made it.
        func past(_ item: String, _ value: String) -> Past? { past[Self.hash(item, value)] }

        private static func hash(_ item: String, _ value: String) -> UInt64 {
            var hash = FNV1a(item.utf8)
            hash.add([0])
            hash.add(value.utf8)
            return hash.mixed
        }

        /// Goes on with what all devices agreed on alone.
        mutating func begin(with agreed: [Edit]) {
            for edit in edits {
                guard let value = edit.value else { continue }
                past[Self.hash(edit.item, value), default: Past()].add(edit)
            }
            edits = agreed
            hasUnknownEdit = false
            // A new edit of a deleted item is no sign that the device saw the deletion.
            let items = Set(agreed.map(\.item))
            for device in known.keys { known[device]?.formIntersection(items) }
        }

        /// Returns the edit of another device whose effect a device showed; nil if that is not sure.
        func seen(_ item: String, _ contents: [String: String]?, _ device: String) -> Int? {
            guard let contents else { return nil }
            let ofItem = edits.indices.filter { edits[$0].item == item }
            if let value = contents[item] { return ofItem.last { edits[$0].value == value } }
            // Who deleted the item, or never had it, saw no deletion by others.
            let own = ofItem.last { edits[$0].device == device }
            if own.map({ edits[$0].value == nil }) ?? false { return nil }
            guard known[device]?.contains(item) ?? false else { return nil }
            let deletions = ofItem.filter { edits[$0].value == nil && !edits[$0].isReplaced }
            return deletions.count == 1 ? deletions.first : nil
        }
    }

    private(set) var books: [Audience: Book] = [:]
    /// The share of each item that was ever shown in one.
    private var shares: [String: String] = [:]
    /// The shares in which each account ever took part.
    private var parts: [String: Set<String>] = [:]
    /// The number of edits so far.
    private(set) var count = 0

    /// Whose devices show an account's item.
    func audience(of item: String, account: String) -> Audience {
        shares[item].map(Audience.share) ?? .account(account)
    }

    /// The audiences to which an account belongs.
    private func audiences(of account: String) -> [Audience] {
        [.account(account)] + (parts[account] ?? []).map(Audience.share)
    }

    private mutating func change(_ audience: Audience, _ body: (inout Book) -> Void) {
        body(&books[audience, default: Book()])
    }

    /// Notes a finished edit.
    /// - Parameter before: what the device showed when it began; nil if that is not known.
    mutating func note(
        _ changes: [String: String?], device: String, account: String, before: [String: String]?
    ) {
        for (item, value) in changes.sorted(by: { $0.key < $1.key }) {
            count += 1
            let number = count
            change(audience(of: item, account: account)) { book in
                let seen = book.seen(item, before, device)
                for index in book.edits.indices where book.edits[index].item == item {
                    if book.edits[index].device == device || seen == index { book.edits[index].isReplaced = true }
                }
                let isCertain = !book.unaware.contains(device)
                book.edits.append(
                    Edit(number: number, device: device, item: item, value: value, isCertain: isCertain))
                book.known[device, default: []].insert(item)
            }
        }
    }

    /// Notes an edit whose app ended before it returned.
    mutating func noteInterruption(account: String) {
        for audience in audiences(of: account) { change(audience) { $0.hasUnknownEdit = true } }
    }

    /// Notes what a device shows.
    mutating func note(_ shown: ShownItems, device: String, account: String) {
        for (share, items) in shown.shares {
            parts[account, default: []].insert(share)
            for item in items where shares[item] != share { move(item, to: share) }
        }
        for audience in audiences(of: account) {
            change(audience) { book in
                book.known[device, default: []].formUnion(shown.contents.keys)
                // What a device lost it may still show, as its own.
                for index in book.edits.indices
                where book.edits[index].device != device && !book.edits[index].isLost {
                    let edit = book.edits[index]
                    if let value = edit.value, shown.contents[edit.item] == value { book.edits[index].isSent = true }
                }
            }
        }
    }

    /// Notes that an account's item is in a share from now on, with what was done with it before.
    private mutating func move(_ item: String, to share: String) {
        var moved = Book()
        for (audience, book) in books where audience != .share(share) {
            guard book.edits.contains(where: { $0.item == item }) else { continue }
            moved.edits += book.edits.filter { $0.item == item }
            moved.hasUnknownEdit = moved.hasUnknownEdit || book.hasUnknownEdit
            moved.unaware.formUnion(book.unaware)
            for (device, items) in book.known where items.contains(item) { moved.known[device] = [item] }
            books[audience]?.edits.removeAll { $0.item == item }
        }
        shares[item] = share
        change(.share(share)) { book in
            // Its device put it into a share whose removal it had not learned of.
            for index in moved.edits.indices where moved.edits[index].device.map(book.unaware.contains) ?? false {
                moved.edits[index].isCertain = false
            }
            book.edits = (book.edits + moved.edits).sorted { $0.number < $1.number }
            book.hasUnknownEdit = book.hasUnknownEdit || moved.hasUnknownEdit
            book.unaware.formUnion(moved.unaware)
            book.known.merge(moved.known) { $0.union($1) }
        }
    }

    /// Notes that a device synced without a fault.
    /// - Parameter count: the number of edits when it began.
    mutating func noteSync(device: String, account: String, edits count: Int) {
        for audience in audiences(of: account) {
            change(audience) { book in
                book.unaware.remove(device)
                for index in book.edits.indices
                where book.edits[index].number <= count && book.edits[index].device == device
                    && !book.edits[index].isLost
                {
                    book.edits[index].syncs += 1
                    book.edits[index].isUnacknowledged = false
                    if book.edits[index].syncs > 1 { book.edits[index].isSent = true }
                }
            }
        }
    }

    /// Notes that a device did not learn what its request did, as its answer was lost or its app ended.
    mutating func noteLostAnswer(device: String, account: String) {
        changeEdits(of: device, account) { $0.isUnacknowledged = true }
    }

    /// Notes that a device's change token expired.
    mutating func noteExpiredToken(device: String, account: String) {
        changeEdits(of: device, account) { $0.mayReturn = $0.mayReturn || $0.isUnacknowledged }
    }

    private mutating func changeEdits(of device: String, _ account: String, _ body: (inout Edit) -> Void) {
        for audience in audiences(of: account) {
            change(audience) { book in
                for index in book.edits.indices where book.edits[index].device == device { body(&book.edits[index]) }
            }
        }
    }

    /// Notes that an account's user removed the app's data.
    /// - Parameters:
    ///   - isWhole: whether nothing of the account's is left, as the default zone's records are.
    ///   - devices: the account's.
    ///   - all: those of all accounts. A share's items may be gone for all of them, or be another account's and stay.
    mutating func notePurge(account: String, isWhole: Bool, devices: [String], all: [String]) {
        for audience in audiences(of: account) {
            change(audience) { book in
                let isOwn = audience == .account(account)
                // What was not sent is not what the user removed: apps keep it or not.
                for index in book.edits.indices {
                    if isOwn, isWhole, book.edits[index].isSent { book.edits[index].isPurged = true }
                    // If another device recreates the zone first, the token expires, and the purge is not reported.
                    if book.edits[index].isUnacknowledged { book.edits[index].mayReturn = true }
                    book.edits[index].isCertain = false
                }
                book.unaware = Set(isOwn ? devices : all)
            }
        }
    }

    /// Notes that a device lost what it had not sent: its user signed out, or deleted the app.
    /// - Parameter isOwned: whether the app knew that it was the account's, as it had synced since that signed in.
    mutating func noteLoss(device: String, account: String, isOwned: Bool) {
        for audience in audiences(of: account) { change(audience) { $0.noteLoss(device: device, isOwned: isOwned) } }
    }

    /// Notes that all devices of an audience agree, and may. From here on nothing earlier comes back, and nothing is uncertain.
    mutating func noteAgreement(_ audience: Audience, contents: [String: String]) {
        guard books[audience] != nil else { return }
        let number = count
        let agreed = contents.sorted { $0.key < $1.key }.map { item, value in
            Edit(number: number, device: nil, item: item, value: value, isCertain: true, isSent: true)
        }
        change(audience) { $0.begin(with: agreed) }
    }
}

extension EditLedger.Book {
    fileprivate mutating func noteLoss(device: String, isOwned: Bool) {
        for index in edits.indices where edits[index].device == device && !edits[index].isSent {
            edits[index].isCertain = false
            edits[index].isLost = true
            edits[index].isOwned = isOwned
            // A lost edit replaced no edit of another device.
            edits[index].isReplaced = edits[index].isReplaced && edits[index].value != nil
            for other in edits.indices where edits[other].item == edits[index].item {
                edits[other].isReplaced = edits[other].isReplaced && other == index
            }
        }
        // What the device does next, it does without having seen these.
        for index in edits.indices where edits[index].device == device { edits[index].device = nil }
        known[device] = nil
    }
}
