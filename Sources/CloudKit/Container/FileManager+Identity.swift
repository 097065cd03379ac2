public import Foundation
import NephosCrypto

// Apple's Foundation has these members for iCloud Drive. Apps with CloudKit use them to check whether an account is
// signed in.

extension FileManager {
    /// An opaque token for the account of the app's containers; nil while no account is signed in.
    ///
    /// The tokens of different accounts differ, and reveal nothing else about the accounts. Unlike
    /// `CKContainer.accountStatus`, this property does not query the service.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        ServiceDirectory.current.identityToken
    }
}

extension NSNotification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Posted with `CKAccountChanged`, when `FileManager.ubiquityIdentityToken` may have changed.
    public static let NSUbiquityIdentityDidChange = NSNotification.Name("NSUbiquityIdentityDidChangeNotification")
}

extension ServiceDirectory {
    var identityToken: NSData? {
        guard let account else { return nil }
        return NSData(data: withUnsafeBytes(of: FNV1a(account.utf8).value.littleEndian) { Data($0) })
    }
}
