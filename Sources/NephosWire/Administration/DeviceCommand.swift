/// A command of `nephos` about an account's keys. `nephos-keys` executes it: the helper executable that links the
/// CloudKit library. So the server, which does not link the library, starts faster and needs less memory.
///
/// The helper reads the command from its standard input, because other processes can see a process's arguments. Both
/// executables come from one build.
package struct DeviceCommand: Hashable, Sendable {
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case list, code, approve, revoke, recovery, recover, compare, accept, reset
        /// Stores the key of an accepted share on the device.
        case takeKey
    }

    package var action: Action
    package var url: String
    package var container: String
    package var environment: String
    package var token: String
    package var apiToken: String
    /// The action's argument or secret. For `takeKey`, the fragment of the share's URL.
    package var word: String
    /// For `takeKey`, the name of the group to which the key belongs. `zoneID` is then the share's zone.
    package var group: String
    package var zoneID: ZoneIDDictionary?

    package init(
        _ action: Action, url: String, container: String, environment: String, token: String, apiToken: String,
        word: String = "", group: String = "", zoneID: ZoneIDDictionary? = nil
    ) {
        self.action = action
        self.url = url
        self.container = container
        self.environment = environment
        self.token = token
        self.apiToken = apiToken
        self.word = word
        self.group = group
        self.zoneID = zoneID
    }
}

extension DeviceCommand: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init,
        .required("action", \.action, .name),
        .required("url", \.url, .string),
        .required("container", \.container, .string),
        .required("environment", \.environment, .string),
        .required("token", \.token, .string),
        .required("apiToken", \.apiToken, .string),
        .required("word", \.word, .string),
        .required("group", \.group, .string),
        .optional("zoneID", \.zoneID, .zoneID))
}
