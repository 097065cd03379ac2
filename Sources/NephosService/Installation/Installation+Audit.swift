import NephosStorage
import NephosWire

/// The state of the audit, as its verification finds it.
package struct AuditVerification: Codable, Sendable {
    /// The number of batches.
    package var batches = 0
    /// The time of the oldest event, in milliseconds since 1970; nil without events.
    package var since: Int64?
    /// The last batch, as the log has it; nil without batches.
    package var head: String?
    /// What is wrong; nil if nothing is.
    package var problem: String?
}

/// A page of the audit.
package struct AuditPage: Codable, Sendable {
    package var events: [AuditedEvent] = []
    /// The batch after which the next page begins; nil on the last page.
    package var next: Int64?
    /// The batch before which the page of earlier events ends; nil without earlier ones, and for pages in their order.
    package var previous: Int64?
}

extension Installation {
    /// Chains the events of the audit at intervals until the task is cancelled.
    package func chainAudit() async {
        while !Task.isCancelled {
            await chainDueAudit(isClosing: false)
            guard (try? await environment.sleep(milliseconds: Limits.auditInterval)) != nil else { break }
        }
    }

    /// Chains all events, as the server stops.
    package func finishAudit() async { await chainDueAudit(isClosing: true) }

    private func chainDueAudit(isClosing: Bool) async {
        await writeRefusals()
        // Another server goes on writing events: a server that stops chains those until now.
        let due = environment.now() - (isClosing ? 0 : Limits.auditInterval)
        do {
            while let (head, count) = try await chainNextBatch(due: due) {
                environment.log("audit: head \(head.text), events: \(count)")
            }
        } catch {
            environment.log("the audit was not chained: \(error.reason)")
        }
    }

    private func writeRefusals() async {
        let refusals = refusals.take()
        if refusals.isEmpty { return }
        do {
            try await write { transaction in for refusal in refusals { try self.audit(refusal, in: transaction) } }
        } catch {
            self.refusals.giveBack(refusals)
            environment.log("the audit lacks refusals until the next attempt: \(error.reason)")
        }
    }

    /// - Returns: the new last batch, and the number of its events; nil if no batch is due.
    private func chainNextBatch(due: Int64) async throws(ServiceError) -> (AuditHead, Int)? {
        let first = try await read { try $0.installationEntries(.audit, after: "", limit: 1).first }
        guard let first, AuditedEvent.time(ofEntryNamed: first.name) <= due else { return nil }
        return try await write { transaction in
            let entries = try transaction.installationEntries(.audit, after: "", limit: Limits.eventsPerAuditBatch)
            guard let last = entries.last else { return nil }
            let head = try transaction.entry(AuditHead.self, AuditHead.name) ?? .none
            let batch = try AuditBatch.make(entries, after: head)
            let until = AuditedEvent.time(ofEntryNamed: last.name)
            let number = head.number + 1
            let entry = try batch.encoded(
                named: AuditBatch.name(number),
                expiresAt: until + Limits.auditRetention)
            let next = AuditHead(number: number, hash: AuditBatch.hash(entry), until: until)
            try transaction.put(entry)
            try transaction.put(next, AuditHead.name)
            for event in entries { try transaction.removeInstallationEntry(.audit, event.name) }
            return (next, batch.events.count)
        }
    }

    // MARK: Reading

    /// Returns a page of events, the oldest first: of some batches, and on the last page those that no batch has yet.
    /// - Parameter number: the batch after which the page begins; 0 for the first.
    package func audit(after number: Int64) async throws(ServiceError) -> AuditPage {
        try await read { reader in
            let limit = Limits.auditBatchesPerPage
            let batches = try reader.installationEntries(.auditBatch, after: AuditBatch.name(number), limit: limit)
            var page = AuditPage(events: try batches.flatMap { try AuditBatch.decoded($0).events })
            if batches.count == limit {
                page.next = batches.last.flatMap { Int64($0.name) }
                return page
            }
            let pending = try reader.installationEntries(.audit, after: "", limit: Limits.entriesPerRead)
            page.events += try AuditBatch.make(pending, after: .none).events
            return page
        }
    }

    /// Returns a page of events, the oldest first: of the batches before one, or of the last ones with the events that no
    /// batch has yet.
    /// - Parameter number: the batch before which the page ends; nil for the newest page.
    package func audit(before number: Int64?) async throws(ServiceError) -> AuditPage {
        try await read { reader in
            let newest = try reader.entry(AuditHead.self, AuditHead.name)?.number ?? 0
            let last = min(newest, number.map { $0 - 1 } ?? newest)
            let start = max(0, last - Int64(Limits.auditBatchesPerPage))
            let batches = try reader.installationEntries(
                .auditBatch, after: AuditBatch.name(start), limit: Limits.auditBatchesPerPage)
            var page = AuditPage()
            for batch in batches where batch.name <= AuditBatch.name(last) {
                page.events += try AuditBatch.decoded(batch).events
            }
            let first = try reader.installationEntries(.auditBatch, after: "", limit: 1).first
            if let first, first.name <= AuditBatch.name(start) { page.previous = start + 1 }
            guard number == nil else { return page }
            let pending = try reader.installationEntries(.audit, after: "", limit: Limits.entriesPerRead)
            page.events += try AuditBatch.make(pending, after: .none).events
            return page
        }
    }

    /// Verifies the chain.
    /// - Parameter noted: a batch as the log had it, which is to be in the chain; nil for none.
    package func verifyAudit(_ noted: AuditHead?) async throws(ServiceError) -> AuditVerification {
        var found = AuditVerification()
        var last = ""
        let now = environment.now()
        while true {
            let (before, after) = (found, last)
            let page = try await read { reader in
                let entries = try reader.installationEntries(
                    .auditBatch, after: after, limit: Limits.auditBatchesPerPage)
                return (try before.adding(entries, at: now, reader), entries.last?.name)
            }
            found = page.0
            guard let name = page.1, found.problem == nil else { break }
            last = name
        }
        if let noted, found.problem == nil {
            let entry = try await read { try $0.installationEntry(.auditBatch, AuditBatch.name(noted.number)) }
            if entry.map(AuditBatch.hash) != noted.hash {
                found.problem = "batch \(noted.number) is missing, or not the one that the log had"
            }
        }
        return found
    }
}

extension AuditVerification {
    fileprivate func adding(
        _ entries: [InstallationEntry], at now: Int64, _ reader: StorageReader
    ) throws -> AuditVerification {
        var found = self
        if entries.isEmpty { found.problem = try reader.problemOfAuditHead(at: now) }
        for entry in entries where found.problem == nil {
            found.batches += 1
            found.problem = try reader.problem(ofBatch: entry, at: now)
            found.head = Int64(entry.name).map { AuditHead(number: $0, hash: AuditBatch.hash(entry)).text }
            if found.since == nil { found.since = try AuditBatch.decoded(entry).events.first?.time }
        }
        return found
    }
}
