public import Foundation

/// A store for a device's keys for encrypted values, for a program with its own secret storage
/// (`CloudKitEnvironment.keyStore`). Not part of Apple's API: there, iCloud Keychain stores them.
///
/// It has one or two items for each account of each service. Read access to an item gives access to all data that the
/// account can read. If an item is lost, the account has lost the device.
public protocol DeviceKeyStore: AnyObject, Sendable {
    /// Reads an item, applies `body` and stores the result.
    ///
    /// Called concurrently on several threads; may block for a moment. Updates of one item are serialised, including
    /// those of other processes that share the store. On return, the result is stored durably and completely, even if
    /// the process then ends.
    /// - Parameters:
    ///   - item: the item's name: up to 64 letters, digits and dots.
    ///   - body: receives the item, or nil if there is none, and changes it or leaves it; it removes no item. It
    ///     neither blocks nor uses the store. A store that has to retry calls it again with the item's present value:
    ///     the last call counts.
    /// - Throws: any error if the item cannot be read or stored: the item then stays unchanged. The operation that
    ///   needed the keys fails with `CKError.accountTemporarilyUnavailable`, with the error's description in its
    ///   reason; no other keys are made or trusted instead, and the next request asks the store again.
    func update(_ item: String, _ body: (inout Data?) -> Void) throws
}
