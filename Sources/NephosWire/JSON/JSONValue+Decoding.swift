extension JSONValue {
    /// The members of a required object.
    func members(_ expected: String = "an object") throws(WireError) -> JSONMembers {
        guard isObject else { throw mismatch(expected) }
        return JSONMembers(of: self)
    }

    /// Decodes a required array, element by element.
    func elements<Element>(
        _ expected: String, _ decode: (JSONValue) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        guard isArray else { throw mismatch(expected) }
        var result: [Element] = []
        result.reserveCapacity(countHint)
        for element in JSONElements(of: self) { result.append(try decode(element)) }
        return result
    }

    /// Decodes a required member; the last of its name counts.
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

    /// Bytes in base64.
    func requiredBytes(_ name: StaticString) throws(WireError) -> [UInt8] {
        try required(name, "a base64 string") { (json) throws(WireError) in try json.bytes() }
    }

    /// A member, if this is an object; the last of its name counts. Nil if absent or null.
    func member(_ name: StaticString) -> JSONValue? {
        guard isObject else { return nil }
        var found: JSONValue?
        for (key, value) in JSONMembers(of: self) where name ~= key { found = value.nonNull }
        return found
    }

    /// A token or marker of a position; nil for the empty one, with which some clients begin.
    func position() throws(WireError) -> String? {
        let token = try string()
        return token.isEmpty ? nil : token
    }

    func string() throws(WireError) -> String {
        guard tag == Tag.string else { throw mismatch("a string") }
        return text.string
    }

    func arrayOfStrings() throws(WireError) -> [String] {
        try elements("an array of strings") { (element) throws(WireError) in try element.string() }
    }

    /// A Boolean, or one in a string, as some clients encode everything.
    func bool() throws(WireError) -> Bool {
        switch tag {
        case Tag.true: return true
        case Tag.false: return false
        case Tag.string where "true" ~= text: return true
        case Tag.string where "false" ~= text: return false
        default: throw mismatch("true or false")
        }
    }

    /// A 64-bit integer. Accepts an integer, a number with a zero fraction (up to 2^53, where such numbers are exact),
    /// or either in a string, for senders whose numbers cannot hold 64 bits.
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

    /// A finite number, or one in a string.
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

    /// One of an enumeration's names.
    func oneOf<Name: RawRepresentable<String>>(
        _ type: Name.Type, names: @autoclosure () -> [String]
    ) throws(WireError) -> Name {
        guard tag == Tag.string, let name = Name(rawValue: text.string) else {
            throw mismatch("one of " + names().joined(separator: ", "))
        }
        return name
    }
}

// MARK: - Errors

extension JSONValue {
    /// "expected a string, found the number 5", at this value's path.
    func mismatch(_ expected: String) -> WireError { failure("expected \(expected), found \(summary)") }

    func failure(_ reason: String) -> WireError { WireError(path: path, reason: reason) }

    /// The error for a missing required key.
    func missing(_ key: String, _ expected: String) -> WireError {
        WireError(path: WirePath.appending(member: key, to: path), reason: "expected \(expected), found nothing")
    }

    /// The value in a few words.
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

    /// The value's path in its document. Found by a search from the root, a cost that only errors pay.
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
