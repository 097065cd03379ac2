import Foundation
package import NephosWire

extension AccountDevices {
    /// Stores the key of an accepted share for the account, so that all devices of the account have it.
    /// - Parameter fragment: the fragment of the share's URL, which contains the key.
    package func takeKey(of group: String, in zoneID: ZoneIDDictionary, from fragment: String) async throws(Failure) {
        guard let link = ShareLink(fragment: fragment) else {
            throw Failure(description: "what the URL has after # is not whole")
        }
        let name = KeyRing.GroupName(
            zone: KeyZone(zoneID, .shared), group: group)
        let ring = KeyRing(service, container: container)
        do throws(KeyFailure) {
            try await ring.join(name, by: link)
            guard try await ring.keys(of: name, making: false).1.currentKey == nil else { return }
        } catch {
            throw Self.failure(error)
        }
        throw Failure(description: "it does not open the share, whose owner has to hand on a new URL")
    }
}
