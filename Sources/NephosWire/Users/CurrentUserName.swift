/// The names by which clients refer to the current user: `CKCurrentUserDefaultName` of Apple's framework, and the
/// spelling of CloudKit Web Services' own clients. No user record has one of these names.
package enum CurrentUserName {
    package static let native = "__defaultOwner__"
    package static let webServices = "_defaultOwner"

    package static func isOne(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "_") && (name == native || name == webServices)
    }
}
