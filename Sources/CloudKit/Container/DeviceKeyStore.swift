public import Foundation

/// Where a device keeps its keys for encrypted values, for a program that has a place of its own for secrets
/// (`CloudKitEnvironment.keyStore`). Not part of Apple's API: there, iCloud Keychain keeps them.
///
/// It has items, one or two for each account of each service. Who can read an item can read what the account can; who loses
/// it has lost the device.
public protocol DeviceKeyStore: AnyObject, Sendable {
    /// Reads an item, and keeps what `body` makes of it.
    ///
    /// It is called on several threads at a time, and may block for a moment. The updates of one item follow each other, also
    /// those of other processes, where they have the same store. When it returns, what `body` made of the item is kept, whole,
    /// whatever happens to the process then.
    /// - Parameters:
    ///   - item: the item's name: up to 64 letters, digits and dots.
    ///   - body: is given the item, nil where there is none, and changes it, or leaves it; it removes none. It neither blocks nor uses the store. A
    ///     store that has to begin again calls it again, with the item as it is then: the last call counts.
    /// - Throws: anything, where the item cannot be read or kept: it stays as it was. What needed the keys fails with
    ///   `CKError.accountTemporarilyUnavailable`, and the error's description in its reason; no other keys are made or trusted in
    ///   their place, and the next request asks the store again.
    func update(_ item: String, _ body: (inout Data?) -> Void) throws
}
