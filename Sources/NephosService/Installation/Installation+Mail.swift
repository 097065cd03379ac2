import NephosCrypto
import NephosStorage
import NephosWire

extension Installation {
    /// A mail that this server alone sends now.
    private struct ClaimedMail: Sendable {
        /// The name under which the queue has it meanwhile.
        var name: String
        var mail: QueuedMail
        var message: MailMessage
    }

    /// The waits after failed attempts: a minute at first, an hour at most, for a day.
    private static let retries = RetrySchedule(
        firstDelay: .seconds(60), longestDelay: .seconds(3600), lifetime: .milliseconds(Limits.mailLifetime))

    // MARK: Queueing

    /// Queues a mail that a caller asked for, with the same work for every address.
    /// - Parameter isOwn: whether the address is the caller's: then an exceeded allowance is an error.
    func request(
        _ purpose: QueuedMail.Purpose, to text: String, continuation: SignUpContinuation?, address: [UInt8],
        isOwn: Bool = false
    ) async throws(ServiceError) {
        guard sendsMail else { throw .invalid("the server sends no mail") }
        guard let recipient = MailAddress(SignInName.canonical(text))?.text else {
            throw .noMailAddress(text)
        }
        let now = environment.now()
        try await write { transaction in
            try MailAllowance.take(network: address, at: now, in: transaction)
            if purpose == .signUp { try MailAllowance.takeSignUp(at: now, in: transaction) }
            let count = try transaction.installationEntries(.queuedMail, after: "", limit: Limits.queuedMails).count
            guard count < Limits.queuedMails else { throw ServiceError.busy }
            guard try MailAllowance.take(recipient: "\(purpose.rawValue) \(recipient)", at: now, in: transaction) else {
                if isOwn { throw ServiceError.tooManyMails }
                return
            }
            try self.queue(purpose, to: recipient, continuation: continuation, in: transaction)
        }
    }

    /// Queues a mail, in the transaction of what causes it. A server without mail, and an address to which mail cannot be
    /// sent, have none.
    func queue(
        _ purpose: QueuedMail.Purpose, to recipient: String, account: String? = nil,
        continuation: SignUpContinuation? = nil, about notice: DeviceNotice? = nil, of change: CredentialChange? = nil,
        in transaction: StorageTransaction
    ) throws {
        guard sendsMail, MailAddress(recipient) != nil else { return }
        let now = environment.now()
        let mail = QueuedMail(
            purpose: purpose, recipient: recipient, account: account, continuation: continuation,
            event: notice?.event, container: notice?.container, change: change, queuedAt: now,
            epoch: try transaction.tokenEpoch())
        try transaction.put(
            mail, QueuedMail.name(dueAt: now, SecretToken.randomName()), expiresAt: now + Limits.mailLifetime)
    }

    // MARK: Sending

    /// Sends the mails that are due, until the task is cancelled.
    package func sendMails(to outlet: MailOutlet) async {
        while !Task.isCancelled {
            do throws(ServiceError) {
                while try await sendDueMails(to: outlet) == Limits.mailsAtOnce {}
            } catch {
                environment.log("the queue of mails cannot be read: \(error.reason)")
            }
            guard (try? await environment.sleep(milliseconds: Limits.mailInterval)) != nil else { return }
        }
    }

    /// Sends up to `Limits.mailsAtOnce` mails that are due.
    /// - Returns: the number of mails that were taken from the queue.
    @discardableResult
    package func sendDueMails(to outlet: MailOutlet) async throws(ServiceError) -> Int {
        guard let mail = people.mail else { return 0 }
        let now = environment.now()
        let first = try await read { try $0.installationEntries(.queuedMail, after: "", limit: 1).first }
        guard let first, Self.isDue(first, at: now) else { return 0 }
        let (count, claimed) = try await claimMails(mail)
        await withTaskGroup(of: Void.self) { group in
            for mail in claimed { group.addTask { await self.send(mail, to: outlet) } }
        }
        return count
    }

    private static func isDue(_ entry: InstallationEntry, at now: Int64) -> Bool {
        QueuedMail.parts(of: entry.name).map { $0.dueAt <= now } ?? true
    }

    /// Takes due mails, so that no other server sends them meanwhile, and makes their links.
    private func claimMails(_ settings: PeopleSettings.Mail) async throws(ServiceError) -> (Int, [ClaimedMail]) {
        let now = environment.now()
        return try await write { transaction in
            let due = try transaction.installationEntries(.queuedMail, after: "", limit: Limits.mailsAtOnce)
                .filter { Self.isDue($0, at: now) }
            let epoch = try transaction.tokenEpoch()
            var claimed: [ClaimedMail] = []
            for entry in due {
                try transaction.removeInstallationEntry(.queuedMail, entry.name)
                var mail = try QueuedMail.decoded(entry)
                guard let id = QueuedMail.parts(of: entry.name)?.id, mail.epoch == epoch,
                    now < mail.queuedAt + Limits.mailLifetime,
                    let message = try self.message(mail, settings, in: transaction)
                else { continue }
                mail.attempts += 1
                let name = QueuedMail.name(dueAt: now + Limits.mailLease, id)
                try transaction.put(mail, name, expiresAt: mail.queuedAt + Limits.mailLifetime)
                claimed.append(ClaimedMail(name: name, mail: mail, message: message))
            }
            return (due.count, claimed)
        }
    }

    private func send(_ claimed: ClaimedMail, to outlet: MailOutlet) async {
        var failure: MailFailure?
        do throws(MailFailure) { try await outlet.send(claimed.message) } catch { failure = error }
        if Task.isCancelled { return }
        let mail = claimed.mail
        let wait = Self.retries.delay(afterAttempt: mail.attempts, jitter: 1).milliseconds
        let due = environment.now() + wait
        let isRetried = failure?.isPermanent == false && due < mail.queuedAt + Limits.mailLifetime
        if let failure {
            environment.log("a mail was not sent\(isRetried ? "" : ", and is given up"): \(failure.reason)")
        }
        do throws(ServiceError) {
            try await write { transaction in
                // Another server took it over if this one was slower than its lease.
                guard try transaction.removeInstallationEntry(.queuedMail, claimed.name), isRetried,
                    let id = QueuedMail.parts(of: claimed.name)?.id
                else { return }
                try transaction.put(
                    mail, QueuedMail.name(dueAt: due, id), expiresAt: mail.queuedAt + Limits.mailLifetime)
            }
        } catch {
            environment.log("a mail may be sent again: \(error.reason)")
        }
    }

    // MARK: Content

    /// Returns the message of a mail, with a new link; nil if there is nothing to say to the recipient any more.
    private func message(
        _ mail: QueuedMail, _ settings: PeopleSettings.Mail, in transaction: StorageTransaction
    ) throws -> MailMessage? {
        guard let recipient = MailAddress(mail.recipient), let (template, link) = try content(mail, in: transaction)
        else { return nil }
        let values = [
            "server": people.serverName, "address": recipient.text, "link": link, "container": mail.container ?? "",
        ]
        let text = settings.templates.filled(template, values)
        return MailMessage(
            from: settings.sender, to: recipient, subject: text.subject, body: text.body, id: SecretToken.randomName(),
            date: environment.now())
    }

    private func content(
        _ mail: QueuedMail, in transaction: StorageTransaction
    ) throws -> (template: MailTemplate, link: String)? {
        let address = mail.recipient
        let account = try mail.account.flatMap { try transaction.entry(InstallationAccount.self, $0) }
        switch mail.purpose {
        case .verification:
            guard let id = mail.account, let account, !account.verifiedAddresses.contains(address) else { return nil }
            let secret = try makeLink(.verification, address: address, account: id, in: transaction)
            return (.verification, people.link(secret))
        case .recovery:
            guard let (id, account) = try transaction.account(verifying: address) else { return nil }
            let secret = try makeLink(
                .recovery, address: address, account: id, credential: StoredLink.credential(account), in: transaction)
            return (.recovery, people.link(secret))
        case .passwordChanged:
            return account?.verifiedAddresses.contains(address) == true ? (.passwordChanged, "") : nil
        case .deviceAdded:
            guard account?.verifiedAddresses.contains(address) == true, let event = mail.event else { return nil }
            return (MailTemplate(event), "\(people.url)\(PeopleSettings.accountPath)")
        case .credentialsChanged:
            guard account?.verifiedAddresses.contains(address) == true, let change = mail.change else { return nil }
            return (MailTemplate(change), "\(people.url)\(PeopleSettings.accountPath)")
        case .signUp, .invitation:
            let isInvited = mail.purpose == .invitation
            guard people.signUp == .open || isInvited && people.signUp == .invitation else { return nil }
            if try transaction.hasAccount(address) { return (.accountExists, "\(people.url)/sign-in") }
            let secret = try makeLink(
                .signUp, address: address, continuation: mail.continuation,
                lifetime: isInvited ? Limits.invitationLifetime : Limits.linkLifetime, in: transaction)
            return (isInvited ? .invitation : .signUp, people.link(secret))
        }
    }
}
