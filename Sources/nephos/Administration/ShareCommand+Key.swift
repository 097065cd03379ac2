import NephosWire

/// The key for a share's encrypted values, which is in the fragment of the share's URL.
extension ShareCommand {
    /// Lets `nephos-keys` store the key of an accepted share for the account. Does nothing if the fragment has no key.
    /// - Parameter fragment: the fragment of the URL, which is a key or a title; nil without a fragment.
    /// - Throws: `Cloud.Failure` if the key cannot be stored.
    static func takeKey(of joined: RecordInfo, _ fragment: String, _ address: CloudAddress) throws(Cloud.Failure) {
        guard fragment.hasPrefix("k="), joined.participantRole != .owner else { return }
        guard case .server(let server) = address.place, let token = address.token else {
            throw Cloud.Failure(
                message:
                    "the share is accepted, but the key in its URL was not taken: only a running server hands it over:"
                    + " accept the URL there.")
        }
        KeysProgram.run(
            DeviceCommand(
                .takeKey, url: server.description, container: joined.containerIdentifier,
                environment: address.environment, token: token, apiToken: address.apiToken, word: fragment,
                group: joined.rootRecordName == nil ? "" : joined.share.recordName, zoneID: joined.zoneID))
    }
}
