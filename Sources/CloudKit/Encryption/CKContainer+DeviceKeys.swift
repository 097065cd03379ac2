/// Enrolment of a device whose keys the program itself stores (`CloudKitEnvironment.keyStore`). Not part of Apple's
/// API. The command `nephos keys` enrols devices with key files instead.
extension CKContainer {
    /// Returns the one-time code by which another device of the account approves this device. A person carries the code
    /// to that device, because any client with the code can impersonate this device.
    /// - Returns: the code; nil if this device has the account's keys. The first device of an account has them.
    /// - Throws: `CKError`.
    public func deviceCode() async throws -> String? {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.code() }
    }

    /// Enrols the device that has this code on the account's list, and hands the account's keys to it.
    /// - Throws: `CKError`: `.invalidArguments` if no device with that code awaits approval.
    public func approveDevice(code: String) async throws {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.approve(code) }
    }

    /// Makes a recovery key for the account, which replaces any earlier one. The returned text is its only copy.
    /// - Throws: `CKError`.
    public func makeRecoveryKey() async throws -> String {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.makeRecoveryKey() }
    }

    /// Enrols this device on the account's list with the recovery key, after all other devices are lost. On a device of
    /// the list it checks the key alone.
    /// - Throws: `CKError`: `.invalidArguments` if a digit is wrong, or if the account has another recovery key.
    public func recoverDevice(key: String) async throws {
        try await keys { (devices) throws(AccountDevices.Failure) in _ = try await devices.recover(key) }
    }

    private func keys<Value: Sendable>(
        _ body: @Sendable (AccountDevices) async throws(AccountDevices.Failure) -> Value
    ) async throws(CKError) -> Value {
        let context = ErrorContext(containerID: session.identifier)
        let account = account
        guard account.service.hasAccount else { throw account.noAccount(context) }
        do throws(AccountDevices.Failure) {
            return try await body(AccountDevices(account.service, container: session.identifier))
        } catch {
            if let cause = error.cause { throw CKError(cause, context) }
            throw CKError(.invalidArguments, error.description, context)
        }
    }
}
