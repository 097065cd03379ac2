public import Foundation

/// A store for a device's keys for encrypted values, which a program with secret storage of its own provides
/// (`CloudKitEnvironment.keyStore`). Not part of Apple's API, because iCloud Keychain stores the keys on Apple's
/// platforms.
///
/// The store has one or two items for each account of each container and environment. Read access to an item gives
/// access to all data that the account can read. If an item is lost, the account has lost the device.
public protocol DeviceKeyStore: AnyObject, Sendable {
    /// Reads an item, applies `body` and stores the result.
    ///
    /// The method is called concurrently on several threads, and may block for a moment. Updates of one item are
    /// serialised, including updates by other processes that share the store. When the method returns, the result is
    /// stored durably and completely, even if the process then ends.
    /// - Parameters:
    ///   - item: the name of the item: up to 64 letters, digits and dots.
    ///   - body: receives the item, or nil if there is none, and may change it, but never removes it. It neither blocks
    ///     nor uses the store. A store that has to retry calls it again with the current value of the item. The last
    ///     call counts.
    /// - Throws: any error if the item cannot be read or stored. The item then stays unchanged. The operation that
    ///   needed the keys fails with `CKError.accountTemporarilyUnavailable`, whose reason contains the description of
    ///   the error. No other keys are made or trusted instead, and the next request asks the store again.
    func update(_ item: String, _ body: (inout Data?) -> Void) throws
}
