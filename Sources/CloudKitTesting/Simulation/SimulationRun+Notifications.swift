import CloudKit
import CloudKitLocal
import Foundation
import NephosService
import NephosWire

extension SimulationRun {
    /// Has the oldest notification arrive that the service sent to a device.
    /// - Parameter isLast: whether it does not arrive once more.
    func push(_ name: String, isLast: Bool = true) async {
        guard let device = devices[name], let app = device.app, !device.device.isOffline,
            let notification = device.notifications.first
        else { return }
        if isLast { devices[name]?.notifications.removeFirst() }
        trace.append("  '\(name)' is notified")
        // An engine that is told may have reached the event at which the app ends.
        for deliver in device.device.container.deliveries(of: notification) where !device.launch.hasEnded {
            deliver()
            await rest(name)
        }
        if device.launch.hasEnded { return }
        _ = device.start { await app.didReceive(notification) }
        await rest(name)
    }

    /// Takes over the notifications that the service sent to the devices. It has sent all that are due, as it has settled.
    func takeNotifications() async {
        for name in simulation.devices {
            guard let device = devices[name] else { continue }
            let context = RequestContext(
                container: LocalCloud.defaultContainerIdentifier, environment: .development, scope: .private,
                account: device.account, clientID: name, requestID: "")
            do {
                // The first call makes the token: from then on the service keeps notifications for the device.
                let token =
                    if let known = device.pushToken { known } else {
                        try await cloud.service.createToken(TokenRequest(apnsEnvironment: .development), context)
                            .apnsToken
                    }
                devices[name]?.pushToken = token
                for payload in try await cloud.service.takeNotifications(token: token, context) {
                    guard let notification = Self.notification(payload) else { continue }
                    devices[name]?.notifications.append(notification)
                }
            } catch {
                report(.stuck, "The notifications for '\(name)' cannot be had: \(error)")
            }
        }
    }

    private static func notification(_ payload: [UInt8]) -> CKNotification? {
        let content = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        return content.flatMap { CKNotification(fromRemoteNotificationDictionary: $0) }
    }
}
