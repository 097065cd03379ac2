import NephosCrypto
import NephosStorage

/// Events of the audit, chained: each batch has the hash of the one before, and the log of the server has the hash of each.
/// So who changes or removes a batch has to change all later ones, and differs from the log.
package struct AuditBatch: StoredEntry {
    static let kind = InstallationEntry.Kind.auditBatch

    /// The hash of the batch before; of the first one `none`.
    package var previous: String
    /// The time of the last event of the batch before, until which plus `Limits.auditRetention` that batch is kept; nil for
    /// the first.
    package var previousUntil: Int64?
    package var events: [AuditedEvent]

    static let none = String(repeating: "0", count: 64)

    /// - Parameter number: the number of the batch, from 1 on.
    static func name(_ number: Int64) -> String { padded(number) }

    /// Returns a number whose order as text is that of the numbers.
    static func padded(_ number: Int64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }

    /// The hash of the batch as it is stored.
    static func hash(_ entry: InstallationEntry) -> String {
        SecretToken.hash(of: String(decoding: entry.body, as: UTF8.self))
    }

    /// Returns a batch of events, of which those that differ by their times alone are one.
    static func make(_ entries: [InstallationEntry], after head: AuditHead) throws -> AuditBatch {
        var events: [AuditedEvent] = []
        var positions: [AuditedEvent: Int] = [:]
        for entry in entries {
            var event = try AuditedEvent.decoded(entry)
            let count = event.count ?? 1
            (event.count, event.time) = (nil, nil)
            if let position = positions[event] {
                events[position].count = (events[position].count ?? 1) + count
                continue
            }
            positions[event] = events.count
            event.count = count > 1 ? count : nil
            event.time = AuditedEvent.time(ofEntryNamed: entry.name)
            events.append(event)
        }
        return AuditBatch(previous: head.hash, previousUntil: head.until, events: events)
    }
}

/// The last batch of the audit.
package struct AuditHead: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.auditHead
    static let name = "head"

    package var number: Int64
    package var hash: String
    /// The time of the batch's last event, in milliseconds since 1970; nil without a batch.
    package var until: Int64?

    static let none = AuditHead(number: 0, hash: AuditBatch.none)

    /// As the log has it, such as `17:2c26…`.
    package var text: String { "\(number):\(hash)" }

    package init(number: Int64, hash: String, until: Int64? = nil) {
        self.number = number
        self.hash = hash
        self.until = until
    }

    /// Nil unless the text is a number and a hash.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number > 0, parts[1].utf8.count == 64 else { return nil }
        self.init(number: number, hash: parts[1].lowercased())
    }
}

extension StorageReader {
    /// Describes what is wrong with a batch of the audit, or with the link to its neighbours; nil if nothing is.
    /// - Parameter now: the time at which older batches may have expired.
    func problem(ofBatch entry: InstallationEntry, at now: Int64) throws -> String? {
        let batch = try AuditBatch.decoded(entry)
        guard let number = Int64(entry.name) else { return "'\(entry.name)' is no batch of the audit" }
        if let before = try installationEntry(.auditBatch, AuditBatch.name(number - 1)) {
            if AuditBatch.hash(before) != batch.previous { return "batch \(number - 1) of the audit was changed" }
        } else if try installationEntries(.auditBatch, after: "", limit: 1).first?.name != entry.name
            || batch.previousUntil.map({ now < $0 + Limits.auditRetention }) ?? false
        {
            return "batch \(number - 1) of the audit is missing"
        }
        if try installationEntry(.auditBatch, AuditBatch.name(number + 1)) != nil { return nil }
        let head = try self.entry(AuditHead.self, AuditHead.name) ?? .none
        if number < head.number { return "batch \(number + 1) of the audit is missing" }
        return head.number == number && head.hash == AuditBatch.hash(entry)
            ? nil : "batch \(number) of the audit was changed"
    }

    /// Returns the problem that the audit's newest batch is gone although it has not expired; nil if there is none.
    func problemOfAuditHead(at now: Int64) throws -> String? {
        guard let head = try entry(AuditHead.self, AuditHead.name),
            head.until.map({ now < $0 + Limits.auditRetention }) ?? true,
            try installationEntry(.auditBatch, AuditBatch.name(head.number)) == nil
        else { return nil }
        return "batch \(head.number) of the audit is missing"
    }
}
