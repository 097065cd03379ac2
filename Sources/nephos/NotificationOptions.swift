import NephosHTTP
import NephosPush
import NephosService

/// The options for the delivery of notifications, by Apple's push service and by web hooks.
struct NotificationOptions {
    static let options = [
        CommandOption("--apns-key", "FILE", "Send notifications to devices, signed with the .p8 key in FILE."),
        CommandOption("--apns-key-id", "ID", "The key's identifier at Apple's developer site."),
        CommandOption("--apns-team", "ID", "The team's identifier at Apple's developer site."),
        CommandOption("--apns-topic", "TOPIC", "The app's bundle identifier."),
        CommandOption("--apns-url", "URL", "Send them there instead of to Apple. https only."),
        CommandOption("--web-hook", "URL", "Send every notification to URL, signed."),
        CommandOption("--web-hook-secret", "FILE", "What web hooks are signed with: whsec_ and base64."),
        CommandOption(
            "--outgoing-ca", "FILE",
            """
            Trust the certificates in FILE for these, instead of the
            system's.
            """),
    ]

    private static let apns = ["--apns-key", "--apns-key-id", "--apns-team", "--apns-topic"]

    private let push: APNsConfiguration?
    private let webHook: WebHook?
    private let certificates: String?

    /// Reads and checks the files that the options name.
    /// - Throws: `UsageError` for conflicting options, and for values that `NephosPush` refuses.
    init(_ arguments: Arguments) throws(UsageError) {
        do {
            push = try Self.push(arguments)
            webHook = try Self.webHook(arguments)
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError("\(error).")
        }
        certificates = arguments["--outgoing-ca"]
        if let certificates {
            guard push != nil || webHook != nil else {
                throw UsageError("'--outgoing-ca' needs '--apns-key' or '--web-hook'.")
            }
            do throws(NotificationSetupError) {
                try TrustedCertificates.check(certificates)
            } catch {
                throw UsageError("\(error).")
            }
        }
    }

    private static func push(_ arguments: Arguments) throws -> APNsConfiguration? {
        guard let file = arguments["--apns-key"], let keyID = arguments["--apns-key-id"],
            let teamID = arguments["--apns-team"], let topic = arguments["--apns-topic"]
        else {
            if let missing = apns.first(where: { !arguments.has($0) }),
                let given = (apns + ["--apns-url"]).first(where: arguments.has)
            {
                throw UsageError("'\(given)' needs '\(missing)' too: \(apns.joined(separator: ", ")) go together.")
            }
            return nil
        }
        let identity = try ProviderIdentity(key: SigningKey(file: file), keyID: keyID, teamID: teamID)
        return try APNsConfiguration(identity: identity, topic: topic, url: arguments["--apns-url"])
    }

    private static func webHook(_ arguments: Arguments) throws -> WebHook? {
        switch (arguments["--web-hook"], arguments["--web-hook-secret"]) {
        case (nil, nil): return nil
        case (_?, nil): throw UsageError("'--web-hook' needs '--web-hook-secret FILE': web hooks are signed.")
        case (nil, _?): throw UsageError("'--web-hook-secret' needs '--web-hook URL'.")
        case (let url?, let file?): return try WebHook(url: url, secret: WebHookSecret(file: file))
        }
    }

    /// Returns the outlets for the delivery, and the HTTP clients that must be closed before the service is closed.
    func delivery(now: @escaping @Sendable () -> Int64) -> (outlets: NotificationOutlets, clients: [HTTPClient]) {
        var outlets = NotificationOutlets()
        var clients: [HTTPClient] = []
        // Each outlet has an HTTP client of its own, because a slow web hook must not delay notifications to devices.
        if let push {
            let client = HTTPClient(certificates: certificates)
            outlets.devices = APNsDelivery(push, client: client, now: now)
            clients.append(client)
        }
        if let webHook {
            let client = HTTPClient(certificates: certificates)
            outlets.webHooks = WebHookDelivery([webHook], client: client, now: now)
            outlets.webHookDestinations = [webHook.destination]
            clients.append(client)
        }
        return (outlets, clients)
    }
}
