/// Our additions to requests: the members whose keys begin with `nephos`.
package enum RequestAdditions {
    /// Returns the key of the first addition in a request's body; nil without one. An app's own field is none, whatever
    /// its name.
    package static func first(in body: [UInt8]) -> String? {
        (try? JSONDocument.parse(body) { first(in: $0, keysAreFields: false) }) ?? nil
    }

    private static func first(in value: JSONValue, keysAreFields: Bool) -> String? {
        if value.isArray {
            for element in JSONElements(of: value) {
                if let found = first(in: element, keysAreFields: false) { return found }
            }
        } else if value.isObject {
            for (key, member) in JSONMembers(of: value) {
                let key = key.string
                if !keysAreFields, isAddition(key) { return key }
                if let found = first(in: member, keysAreFields: key == "fields" && !keysAreFields) { return found }
            }
        }
        return nil
    }

    private static func isAddition(_ key: String) -> Bool {
        key.hasPrefix("nephos") && key.dropFirst(6).first?.isUppercase == true
    }
}
