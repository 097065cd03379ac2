import NephosStorage

extension Installation {
    /// Queues a mail about a device to every verified address of its account, as far as the addresses may get mails this
    /// hour. A failure is logged, as the device is on the list already.
    package func noteDevice(_ notice: DeviceNotice) async {
        guard sendsMail else { return }
        let now = environment.now()
        do throws(ServiceError) {
            try await write { transaction in
                guard let account = try transaction.entry(InstallationAccount.self, notice.account) else { return }
                for address in account.verifiedAddresses
                where try MailAllowance.take(recipient: "device \(address)", at: now, in: transaction) {
                    try self.queue(
                        .deviceAdded, to: address, account: notice.account, about: notice, in: transaction)
                }
            }
        } catch {
            environment.log("account \(notice.account) is not notified of a new device: \(error.reason)")
        }
    }
}

extension MailTemplate {
    init(_ event: DeviceNotice.Event) {
        switch event {
        case .first: self = .firstDevice
        case .approved: self = .deviceAdded
        case .recovered: self = .deviceRecovered
        }
    }
}
