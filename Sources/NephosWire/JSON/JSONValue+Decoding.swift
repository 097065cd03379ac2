extension JSONValue {
    /// Returns the members of an object. Throws for any other value.
    func members(_ expected: String = "an object") throws(WireError) -> JSONMembers {
        guard isObject else { throw mismatch(expected) }
        return JSONMembers(of: self)
    }

    /// Decodes an array, element by element. Throws for any other value.
    func elements<Element>(
        _ expected: String, _ decode: (JSONValue) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        guard isArray else { throw mismatch(expected) }
        var result: [Element] = []
        result.reserveCapacity(countHint)
        for element in JSONElements(of: self) { result.append(try decode(element)) }
        return result
    }

    /// Decodes a required member. Of several members with one key, the last counts.
    func required<Result>(
        _ name: StaticString, _ expected: String, _ decode: (JSONValue) throws(WireError) -> Result
    ) throws(WireError) -> Result {
        var found: JSONValue?
        for (key, value) in try members() where name ~= key { found = value.nonNull }
        guard let found else { throw missing("\(name)", expected) }
        return try decode(found)
    }

    func requiredString(_ name: StaticString) throws(WireError) -> String {
        try required(name, "a string") { (json) throws(WireError) in try json.string() }
    }

    func requiredInt64(_ name: StaticString) throws(WireError) -> Int64 {
        try required(name, "an integer") { (json) throws(WireError) in try json.int64() }
    }

    /// Decodes a required member, a base64 string, to its bytes.
    func requiredBytes(_ name: StaticString) throws(WireError) -> [UInt8] {
        try required(name, "a base64 string") { (json) throws(WireError) in try json.bytes() }
    }

    /// Returns a member; nil if it is absent or null, or if this value is not an object. Of several members with one
    /// key, the last counts.
    func member(_ name: StaticString) -> JSONValue? {
        guard isObject else { return nil }
        var found: JSONValue?
        for (key, value) in JSONMembers(of: self) where name ~= key { found = value.nonNull }
        return found
    }

    /// Decodes the token or marker of a position; nil for an empty string, which some clients send for the beginning.
    func position() throws(WireError) -> String? {
        let token = try string()
        return token.isEmpty ? nil : token
    }

    /// Decodes a name, a token or a text. Throws for one that would take the square of its length to compare.
    func string() throws(WireError) -> String {
        let string = try content()
        guard !text.hasLongMarkRun else {
            throw failure("expected at most \(QuerySemantics.longestMarkRun) combining marks in a row")
        }
        return string
    }

    /// Decodes a string of any content, such as the value of a field. It is to be compared by its bytes.
    func content() throws(WireError) -> String {
        guard tag == Tag.string else { throw mismatch("a string") }
        return text.string
    }

    /// Decodes the names of fields or record types. Each record of an answer is compared with them.
    func desiredNames() throws(WireError) -> [String] {
        let names = try arrayOfStrings()
        guard names.count <= Self.mostDesiredNames else {
            throw failure("expected at most \(Self.mostDesiredNames) names, found \(names.count)")
        }
        return names
    }

    /// Twice as many as a record type has fields.
    private static var mostDesiredNames: Int { 1000 }

    func arrayOfStrings() throws(WireError) -> [String] {
        try elements("an array of strings") { (element) throws(WireError) in try element.string() }
    }

    /// Decodes a Boolean. Accepts a Boolean in a string too, because some clients encode every value as a string.
    func bool() throws(WireError) -> Bool {
        switch tag {
        case Tag.true: return true
        case Tag.false: return false
        case Tag.string where "true" ~= text: return true
        case Tag.string where "false" ~= text: return false
        default: throw mismatch("true or false")
        }
    }

    /// Decodes a 64-bit integer. Accepts an integer, a number with a zero fraction (up to 2^53, where such numbers are
    /// exact), and either in a string, for senders whose number types do not have 64 bits.
    func int64(_ expected: String = "an integer") throws(WireError) -> Int64 {
        switch tag {
        case Tag.int64: return Int64(bitPattern: numberBits)
        case Tag.uint64: throw mismatch("\(expected) within the 64 bits of INT64")
        case Tag.double: return try whole(Double(bitPattern: numberBits), expected)
        case Tag.string:
            let digits = text
            if let value = JSONNumber.int64(digits.bytes) { return value }
            guard let value = JSONNumber.double(digits.bytes) else { throw mismatch(expected) }
            return try whole(value, expected)
        default: throw mismatch(expected)
        }
    }

    private func whole(_ value: Double, _ expected: String) throws(WireError) -> Int64 {
        guard value.magnitude < 0x1p53, let whole = Int64(exactly: value) else {
            throw mismatch(value.magnitude >= 0x1p63 ? "\(expected) within the 64 bits of INT64" : expected)
        }
        return whole
    }

    /// Decodes a finite number. Accepts a number in a string too.
    func double(_ expected: String = "a number") throws(WireError) -> Double {
        switch tag {
        case Tag.int64: return Double(Int64(bitPattern: numberBits))
        case Tag.uint64: return Double(numberBits)
        case Tag.double: return Double(bitPattern: numberBits)
        case Tag.string:
            guard let value = JSONNumber.double(text.bytes) else { throw mismatch(expected) }
            return value
        default: throw mismatch(expected)
        }
    }

    /// The number of bytes that no name of an enumeration exceeds.
    private static var longestName: Int { 64 }

    /// Decodes one of an enumeration's names. Throws for other names.
    func oneOf<Name: RawRepresentable<String>>(
        _ type: Name.Type, names: @autoclosure () -> [String]
    ) throws(WireError) -> Name {
        guard tag == Tag.string, text.count <= Self.longestName, let name = Name(rawValue: text.string) else {
            throw mismatch("one of " + names().joined(separator: ", "))
        }
        return name
    }
}

// MARK: - Errors

extension JSONValue {
    /// Returns the error "expected a string, found the number 5" with this value's path.
    func mismatch(_ expected: String) -> WireError { failure("expected \(expected), found \(summary)") }

    func failure(_ reason: String) -> WireError { WireError(path: path, reason: reason) }

    /// Returns the error for a missing required member.
    func missing(_ key: String, _ expected: String) -> WireError {
        WireError(path: WirePath.appending(member: key, to: path), reason: "expected \(expected), found nothing")
    }

    /// A short description of the value for errors, such as "the number 5".
    var summary: String {
        switch tag {
        case Tag.object: "an object"
        case Tag.array: "an array"
        case Tag.string: "the string \(WirePath.quoted(text.string))"
        case Tag.int64: "the number \(Int64(bitPattern: numberBits))"
        case Tag.uint64: "the number \(numberBits)"
        case Tag.double: "the number \(Double(bitPattern: numberBits))"
        case Tag.true: "true"
        case Tag.false: "false"
        default: "null"
        }
    }

    /// The value's path in its document. Computed by a search from the root, which only errors need.
    var path: String {
        var path = ""
        var position = at(1)
        search: while position.index != index {
            if position.isObject {
                for (key, value) in JSONMembers(of: position) where index < value.end {
                    path = WirePath.appending(member: key.string, to: path)
                    position = value
                    continue search
                }
            } else if position.isArray {
                for (offset, value) in JSONElements(of: position).enumerated() where index < value.end {
                    path = WirePath.appending(index: offset, to: path)
                    position = value
                    continue search
                }
            }
            break
        }
        return path
    }
}
