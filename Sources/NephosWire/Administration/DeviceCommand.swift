/// A command of `nephos` about an account's keys, carried out by `nephos-keys`, the executable that links the CloudKit
/// library: so the server starts faster and needs less memory.
///
/// It is the helper's standard input, because other processes see arguments. Both executables are of one build.
package struct DeviceCommand: Hashable, Sendable {
    package enum Action: String, Hashable, Sendable {
        case list, code, approve, revoke, recovery, recover, compare, accept, reset
        /// Stores the key of an accepted share.
        case takeKey
    }

    package var action: Action
    package var url: String
    package var container: String
    package var environment: String
    package var token: String
    package var apiToken: String
    /// The action's argument or secret; of `takeKey` the fragment of the share's URL.
    package var word: String
    /// Of `takeKey`: the share's zone, and the name of the group whose key it is.
    package var zoneID: ZoneIDDictionary?
    package var group: String

    package init(
        _ action: Action, url: String, container: String, environment: String, token: String, apiToken: String,
        word: String = "", zoneID: ZoneIDDictionary? = nil, group: String = ""
    ) {
        self.action = action
        self.url = url
        self.container = container
        self.environment = environment
        self.token = token
        self.apiToken = apiToken
        self.word = word
        self.zoneID = zoneID
        self.group = group
    }
}

extension DeviceCommand: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        guard let action = Action(rawValue: try json.requiredString("action")) else {
            throw json.missing("action", "a known action")
        }
        self.init(
            action, url: try json.requiredString("url"), container: try json.requiredString("container"),
            environment: try json.requiredString("environment"), token: try json.requiredString("token"),
            apiToken: try json.requiredString("apiToken"), word: try json.requiredString("word"),
            group: try json.requiredString("group"))
        for (key, value) in try json.members("an object") where "zoneID" ~= key {
            zoneID = try value.nonNull.map { (json) throws(WireError) in try ZoneIDDictionary(json: json) }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("action", action.rawValue)
        writer.member("url", url)
        writer.member("container", container)
        writer.member("environment", environment)
        writer.member("token", token)
        writer.member("apiToken", apiToken)
        writer.member("word", word)
        writer.member("group", group)
        writer.member("zoneID", zoneID: zoneID)
        writer.endObject()
    }
}
