public import Foundation

/// Something that happens on the server and of which an app is to be told (CKSubscription, Apple's documentation).
open class CKSubscription: NSObject, @unchecked Sendable {
    public typealias ID = String
}
