/// The description of a value's JSON, for reading and writing.
///
/// Codecs serve messages that are seldom sent, because a codec calls a closure and a key path for each member. Messages
/// of records, queries, changes and notifications have their own code for reading and writing.
package struct Codec<Value>: Sendable {
    typealias Write = @Sendable (Value, inout JSONWriter) -> Void

    /// The expected value in errors, such as `a string`.
    let expected: String
    let read: @Sendable (JSONValue) throws(WireError) -> Value
    let write: Write
    /// Writes an object's members without its braces; nil for a value that is not an object.
    fileprivate var writeMembers: Write?

    init(
        _ expected: String, read: @escaping @Sendable (JSONValue) throws(WireError) -> Value, write: @escaping Write
    ) {
        self.expected = expected
        self.read = read
        self.write = write
    }

    /// The codec of an object, whose members are read and written in the given order.
    init<each Member>(
        as expected: String = "an object", _ make: @escaping @Sendable (repeat each Member) -> Value,
        _ member: repeat MemberCodec<Value, each Member>
    ) {
        let writeMembers: Write = { value, writer in repeat (each member).write(value, &writer) }
        self.init(expected) { (json) throws(WireError) in
            guard json.isObject else { throw json.mismatch(expected) }
            return make(repeat try (each member).read(json))
        } write: { value, writer in
            writer.beginObject()
            writeMembers(value, &writer)
            writer.endObject()
        }
        self.writeMembers = writeMembers
    }
}

/// A member of an object: its key, its property, and the codec of its value. A null member counts as absent.
struct MemberCodec<Object, Value>: Sendable {
    fileprivate let read: @Sendable (JSONValue) throws(WireError) -> Value
    fileprivate let write: Codec<Object>.Write

    /// A required member.
    /// - Parameter expected: the expected value in the error about the member's absence; nil for the codec's
    ///   `expected`.
    static func required(
        _ key: String, _ property: any KeyPath<Object, Value> & Sendable, _ codec: Codec<Value>,
        _ expected: String? = nil
    ) -> Self {
        Self { (json) throws(WireError) in
            guard let value = json.member(key) else { throw json.missing(key, expected ?? codec.expected) }
            return try codec.read(value)
        } write: { object, writer in
            writer.key(key)
            codec.write(object[keyPath: property], &writer)
        }
    }

    /// An optional member. A nil value is not written.
    /// - Parameter alias: another key for the member, which some clients send.
    static func optional<Wrapped>(
        _ key: String, or alias: String? = nil, _ property: any KeyPath<Object, Value> & Sendable,
        _ codec: Codec<Wrapped>
    ) -> Self where Value == Wrapped? {
        Self { (json) throws(WireError) in
            try (json.member(key) ?? alias.flatMap(json.member)).map(codec.read)
        } write: { object, writer in
            guard let value = object[keyPath: property] else { return }
            writer.key(key)
            codec.write(value, &writer)
        }
    }

    /// A member with a default value for its absence.
    /// - Parameter omits: whether the default value is not written.
    static func member(
        _ key: String, _ property: any KeyPath<Object, Value> & Sendable, _ codec: Codec<Value>, ifAbsent absent: Value,
        omits: Bool = false
    ) -> Self where Value: Equatable & Sendable {
        Self { (json) throws(WireError) in
            try json.member(key).map(codec.read) ?? absent
        } write: { object, writer in
            let value = object[keyPath: property]
            if omits, value == absent { return }
            writer.key(key)
            codec.write(value, &writer)
        }
    }

    /// A Boolean member that is absent for false.
    static func flag(_ key: String, _ property: any KeyPath<Object, Bool> & Sendable) -> Self where Value == Bool {
        member(key, property, .bool, ifAbsent: false, omits: true)
    }
}

/// A message that a codec describes.
package protocol CodedMessage: WireMessage {
    static var codec: Codec<Self> { get }
}

extension CodedMessage {
    package init(json: JSONValue) throws(WireError) { self = try Self.codec.read(json) }
    package func write(to writer: inout JSONWriter) { Self.codec.write(self, &writer) }
    /// Writes the members without the braces, for an answer that has further members.
    package func writeMembers(to writer: inout JSONWriter) { Self.codec.writeMembers?(self, &writer) }
}

extension JSONValue {
    /// Returns a member of an object; nil if it is absent or null. Of several members with one key, the last counts.
    fileprivate func member(_ name: String) -> JSONValue? {
        guard isObject else { return nil }
        var found: JSONValue?
        for (key, value) in JSONMembers(of: self) where key.string == name { found = value.nonNull }
        return found
    }
}
