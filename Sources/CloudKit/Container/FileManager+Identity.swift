public import Foundation
import NephosCrypto

// Apple's Foundation has these for iCloud Drive. Apps with CloudKit ask them whether an account is signed in.

extension FileManager {
    /// Something that stands for the account of the containers that the app makes; nil while no account is signed in.
    ///
    /// It tells accounts apart and says nothing else about them. `CKContainer.accountStatus` asks the service, this
    /// does not.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        ServiceDirectory.shared.identityToken
    }
}

extension NSNotification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// `FileManager.ubiquityIdentityToken` may be another one; posted with `CKAccountChanged`.
    public static let NSUbiquityIdentityDidChange = NSNotification.Name("NSUbiquityIdentityDidChangeNotification")
}

extension ServiceDirectory {
    var identityToken: NSData? {
        guard let account else { return nil }
        return NSData(data: withUnsafeBytes(of: FNV1a(account.utf8).value.littleEndian) { Data($0) })
    }
}
