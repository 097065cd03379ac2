public import Foundation

// Apple's Foundation has these for iCloud Drive. Apps with CloudKit ask them whether somebody is signed in.

extension FileManager {
    /// Something that stands for the account of the containers that the app makes; nil while nobody is signed in.
    ///
    /// It tells accounts apart and says nothing else about them. `CKContainer.accountStatus` asks the service, this does
    /// not.
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
        // FNV-1a: the same in every process, unlike Swift's hashes.
        let hash = account.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return NSData(data: withUnsafeBytes(of: hash.littleEndian) { Data($0) })
    }
}
