/// A device that was added to an account's list of devices with its keys, which the account is notified of.
package struct DeviceNotice: Hashable, Sendable {
    package enum Event: String, Codable, Hashable, Sendable {
        /// The first device made the list and the account's keys.
        case first
        /// A device of the list approved it.
        case approved
        /// The recovery key added it.
        case recovered
    }

    package var event: Event
    /// The name of the account, which for an installation is its ID.
    package var account: String
    package var container: String
}
