/// A request's target, taken apart: the path's components decoded one by one, the query kept raw until asked.
struct RequestTarget: Hashable, Sendable {
    let components: [String]
    private let query: Substring.UTF8View

    /// Nil if a component of the path has a broken percent escape or is not UTF-8.
    init?(_ target: String) {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        query = target.utf8[path.endIndex...].dropFirst()
        var components: [String] = []
        components.reserveCapacity(8)
        for raw in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            guard let component = PercentEncoding.decode(raw) else { return nil }
            components.append(component)
        }
        self.components = components
    }

    /// The parameter's first value that is not empty, raw; nil if there is none.
    func parameter(_ name: StaticString) -> Parameter? {
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let key = pair.prefix { $0 != UInt8(ascii: "=") }
            let value = pair[key.endIndex...].dropFirst()
            let isNamed = name.withUTF8Buffer { key.elementsEqual($0) }
            if isNamed, !value.isEmpty { return Parameter(raw: value) }
        }
        return nil
    }

    /// A query parameter's value.
    struct Parameter: Sendable {
        fileprivate let raw: Substring.UTF8View

        /// The ways to read the value, the likelier first. A `+` stands for a space, but clients also send tokens whose
        /// `+` they did not escape (CloudKit Web Services, web auth tokens). Empty if the escapes are broken.
        var readings: [String] {
            guard let literal = PercentEncoding.decode(raw) else { return [] }
            guard raw.contains(UInt8(ascii: "+")) else { return [literal] }
            return [PercentEncoding.decode(raw, plusIsSpace: true), literal].compactMap(\.self)
        }
    }

    static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.components == right.components && left.query.elementsEqual(right.query)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(components)
    }
}

/// Percent encoding (RFC 3986 §2.1).
enum PercentEncoding {
    /// Nil for a `%` that two hexadecimal digits do not follow, and for bytes that are not UTF-8.
    static func decode(_ text: Substring.UTF8View, plusIsSpace: Bool = false) -> String? {
        let percent = UInt8(ascii: "%")
        let plus = UInt8(ascii: "+")
        guard text.contains(where: { $0 == percent || (plusIsSpace && $0 == plus) }) else {
            return String(Substring(text))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == percent {
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(plusIsSpace && byte == plus ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
