/// The request of `faults/add`, one of `nephos dev`'s own routes: has requests to the container go wrong.
package struct AddFaultRequest: Hashable, Sendable {
    /// The fault in words, such as `save zone=Notes networkFailure`.
    package var fault: String

    package init(fault: String) { self.fault = fault }
}

/// The request of `faults/list`, and of `faults/clear`, which removes faults of the container.
package struct FaultsRequest: Hashable, Sendable {
    /// The ID of the only fault to remove; nil for all.
    package var id: Int?

    package init(id: Int? = nil) { self.id = id }
}

/// The faults of the container.
package struct FaultsResponse: Hashable, Sendable {
    package struct Fault: Hashable, Sendable {
        package var id: Int
        /// The fault in words.
        package var fault: String
        /// How many requests or items matched, and how many of them failed.
        package var matched: Int
        package var happened: Int

        package init(id: Int, fault: String, matched: Int, happened: Int) {
            self.id = id
            self.fault = fault
            self.matched = matched
            self.happened = happened
        }
    }

    package var faults: [Fault]

    package init(faults: [Fault]) { self.faults = faults }
}

extension AddFaultRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .required("fault", \.fault, .string))
}

extension FaultsRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .optional("id", \.id, .int))
}

extension FaultsResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .member("faults", \.faults, .array("an array of faults", of: Fault.codec), ifAbsent: []))
}

extension FaultsResponse.Fault {
    fileprivate static let codec = Codec<Self>(
        Self.init, .required("id", \.id, .int), .required("fault", \.fault, .string),
        .member("matched", \.matched, .int, ifAbsent: 0), .member("happened", \.happened, .int, ifAbsent: 0))
}
