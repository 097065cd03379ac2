import NephosWire

/// The parsed target of a request. The path's components are decoded one by one. The query stays raw until it is read.
struct RequestTarget: Hashable, Sendable {
    let components: [String]
    private let target: String
    /// The offset of the query in the bytes of the target.
    private let queryStart: Int

    /// Nil if a component of the path has an invalid percent escape or is not UTF-8.
    init?(_ target: String) {
        var components: [String] = []
        components.reserveCapacity(8)
        var text = target
        let pathEnd = text.withUTF8 { bytes -> Int? in
            let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
            var rest = bytes[..<end]
            while let component = rest.popField(endedBy: UInt8(ascii: "/")) {
                if component.isEmpty { continue }
                guard let decoded = PercentEncoding.decode(component) else { return nil }
                components.append(decoded)
            }
            return end
        }
        guard let pathEnd else { return nil }
        self.components = components
        self.target = target
        queryStart = pathEnd + 1
    }

    /// Returns the first non-empty value of a parameter, raw; nil if there is none.
    func parameter(_ name: StaticString) -> Parameter? {
        var text = target
        return text.withUTF8 { bytes in
            var rest = bytes.dropFirst(queryStart)
            while var value = rest.popField(endedBy: UInt8(ascii: "&")) {
                guard let key = value.popField(endedBy: UInt8(ascii: "=")), !value.isEmpty else { continue }
                if name.withUTF8Buffer({ key.elementsEqual($0) }) {
                    return Parameter(target: target, range: value.startIndex..<value.endIndex)
                }
            }
            return nil
        }
    }

    /// Returns the non-empty values of a parameter that may be there several times, as in forms.
    func parameters(_ name: StaticString) -> [Parameter] {
        var text = target
        return text.withUTF8 { bytes in
            var (rest, found) = (bytes.dropFirst(queryStart), [Parameter]())
            while var value = rest.popField(endedBy: UInt8(ascii: "&")) {
                guard let key = value.popField(endedBy: UInt8(ascii: "=")), !value.isEmpty,
                    name.withUTF8Buffer({ key.elementsEqual($0) })
                else { continue }
                found.append(Parameter(target: target, range: value.startIndex..<value.endIndex))
            }
            return found
        }
    }

    /// The value of a query parameter.
    struct Parameter: Sendable {
        fileprivate let target: String
        fileprivate let range: Range<Int>

        /// The possible decodings of the value, the likelier one first; empty if the escapes are invalid. A `+` stands
        /// for a space, but clients also send tokens in which they did not escape the `+` (CloudKit Web Services, web
        /// auth tokens).
        var readings: [String] {
            var text = target
            return text.withUTF8 { bytes in
                let raw = bytes[range]
                guard let literal = PercentEncoding.decode(raw) else { return [] }
                guard raw.contains(UInt8(ascii: "+")) else { return [literal] }
                return [PercentEncoding.decode(raw, plusIsSpace: true), literal].compactMap(\.self)
            }
        }
    }
}

/// Bytes of a text. Every request is parsed with this type, so it is plain memory and not a view of a string.
typealias TextBytes = Slice<UnsafeBufferPointer<UInt8>>

extension TextBytes {
    /// Removes and returns the bytes before the next separator, or all bytes if there is none. Also removes the
    /// separator. Nil at the end.
    mutating func popField(endedBy separator: UInt8) -> TextBytes? {
        if isEmpty { return nil }
        let end = firstIndex(of: separator) ?? endIndex
        let field = self[startIndex..<end]
        self = self[Swift.min(end + 1, endIndex)..<endIndex]
        return field
    }
}

/// Decoding of percent escapes (RFC 3986 §2.1).
extension PercentEncoding {
    /// - Parameter text: UTF-8 bytes that are part of a string.
    /// - Returns: the decoded text; nil for a `%` without two hexadecimal digits, and for escapes that are not UTF-8.
    static func decode(_ text: TextBytes, plusIsSpace: Bool = false) -> String? {
        let percent = UInt8(ascii: "%")
        let plus = UInt8(ascii: "+")
        guard text.contains(where: { $0 == percent || (plusIsSpace && $0 == plus) }) else {
            return String(decoding: UnsafeBufferPointer(rebasing: text), as: UTF8.self)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
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
