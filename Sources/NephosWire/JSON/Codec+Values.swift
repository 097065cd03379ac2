extension Codec where Value: WireMessage & SendableMetatype {
    /// The codec of a message whose own code reads and writes it.
    static func message(_ expected: String) -> Codec {
        Codec(expected) { (json) throws(WireError) in
            try Value(json: json)
        } write: {
            $0.write(to: &$1)
        }
    }
}

extension Codec<ZoneIDDictionary> {
    /// The codec of a zone's ID without the zone's type, as in requests.
    static let zoneID = Codec("a zone ID") { (json) throws(WireError) in
        try ZoneIDDictionary(json: json)
    } write: {
        $0.write(to: &$1)
    }
}

extension Codec<String> {
    static let string = Codec("a string") { (json) throws(WireError) in
        try json.string()
    } write: {
        $1.string($0)
    }
}

extension Codec<Bool> {
    static let bool = Codec("true or false") { (json) throws(WireError) in
        try json.bool()
    } write: {
        $1.bool($0)
    }
}

extension Codec<Int64> {
    static let int64 = Codec("an integer") { (json) throws(WireError) in
        try json.int64()
    } write: {
        $1.int64($0)
    }
}

extension Codec<Int> {
    static let int = Codec("an integer") { (json) throws(WireError) in
        Int(clamping: try json.int64())
    } write: {
        $1.int64(Int64($0))
    }
}

extension Codec<Double> {
    static let double = Codec("a number") { (json) throws(WireError) in
        try json.double()
    } write: {
        $1.double($0)
    }
}

extension Codec<[UInt8]> {
    /// The codec of bytes in base64.
    static let base64 = Codec("a base64 string") { (json) throws(WireError) in
        try json.bytes()
    } write: {
        $1.base64($0)
    }
}

extension Codec<[[UInt8]]> {
    static let listOfBase64 = array("an array", of: .base64)
}

extension Codec<[String]> {
    static let strings = array("an array of strings", of: .string)
}

extension Codec {
    /// The codec of an array.
    /// - Parameter expected: the expected value, for the error about another value: `an array of zones`.
    static func array<Element>(_ expected: String, of element: Codec<Element>) -> Codec where Value == [Element] {
        Codec("an array") { (json) throws(WireError) in
            try json.elements(expected, element.read)
        } write: { elements, writer in
            writer.beginArray()
            for value in elements { element.write(value, &writer) }
            writer.endArray()
        }
    }
}

extension Codec where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// The codec of an enumeration whose raw values are its names on the wire.
    static var name: Codec {
        let names = Value.allCases.map(\.rawValue)
        return Codec("one of " + names.joined(separator: ", ")) { (json) throws(WireError) in
            try json.oneOf(Value.self, names: names)
        } write: {
            $1.string($0.rawValue)
        }
    }
}
