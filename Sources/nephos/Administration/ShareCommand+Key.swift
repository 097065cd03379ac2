import CloudKit
import FoundationEssentials
import NephosHTTP
import NephosWire

/// The key of a share's encrypted values, in the fragment of the share's URL.
extension ShareCommand {
    /// Stores the key of an accepted share for the account.
    /// - Parameter fragment: the URL's fragment: a key, or a title.
    /// - Throws: `Cloud.Failure` if there is a key that cannot be stored.
    static func takeKey(of joined: RecordInfo, _ fragment: String, _ address: CloudAddress) throws(Cloud.Failure) {
        guard fragment.hasPrefix("k="), joined.participantRole != .owner else { return }
        guard case .server(let server) = address.place, let url = URL(string: server.description),
            let token = address.token
        else { throw failure("only a running server hands it over: accept the URL there") }
        let devices = AccountDevices(
            container: joined.containerIdentifier,
            CloudKitEnvironment(
                url: url, account: .token(token), apiToken: address.apiToken,
                name: address.environment == "production" ? .production : .development))
        let refusal = waiting { () async -> AccountDevices.Failure? in
            do throws(AccountDevices.Failure) {
                try await devices.takeKey(of: joined, from: fragment)
                return nil
            } catch {
                return error
            }
        }
        if let refusal { throw failure("\(refusal). After that accept the URL once more") }
    }

    private static func failure(_ reason: String) -> Cloud.Failure {
        Cloud.Failure(message: "the share is accepted, but the key in its URL was not taken: \(reason).")
    }
}
