@testable import CloudKit

// What tests ask a container for whose account does not change.
extension ContainerSession {
    var service: any CloudService { account.service }
    var keyRing: KeyRing { account.keyRing }
}
