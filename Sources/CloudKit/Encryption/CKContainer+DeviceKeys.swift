/// How a device whose keys the program keeps (`CloudKitEnvironment.keyStore`) comes to the account's. Not part of Apple's API. Devices
/// with files of keys have `nephos keys` for the same.
extension CKContainer {
    /// The code by which another device of the account approves this one, once. A person carries it there: who has it can be the
    /// device.
    /// - Returns: nil where this device has the account's keys. The first of an account has.
    /// - Throws: `CKError`.
    public func deviceCode() async throws -> String? {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.code() }
    }

    /// Puts the device on the account's list whose code it is, and hands it the account's keys.
    /// - Throws: `CKError`, `.invalidArguments` where no device waits with that code.
    public func approveDevice(code: String) async throws {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.approve(code) }
    }

    /// A new recovery key of the account, in the place of an earlier one. It is nowhere but in the answer.
    /// - Throws: `CKError`.
    public func makeRecoveryKey() async throws -> String {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.makeRecoveryKey() }
    }

    /// Puts this device on the account's list by the recovery key, where all others are lost.
    /// - Throws: `CKError`, `.invalidArguments` where a digit is wrong.
    public func recoverDevice(key: String) async throws {
        try await keys { (devices) throws(AccountDevices.Failure) in try await devices.recover(key) }
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
