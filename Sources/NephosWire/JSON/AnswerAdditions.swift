import CSimdJSON

/// Our additions to answers: the members whose keys begin with `nephos`. Only clients that request the additions
/// receive them. Other clients can validate or print an answer, so they receive only Apple's keys.
package enum AnswerAdditions {
    /// The request header by which a client requests the additions, with any value.
    package static let header: StaticString = "Nephos-Additions"

    /// Removes the additions from an answer.
    /// - Parameter parts: JSON from our own writer.
    /// - Returns: the JSON without the additions.
    package static func removed(from parts: [JSONBytes]) -> [JSONBytes] {
        guard parts.contains(where: { position(in: $0.buffer, from: 0) != nil }) else { return parts }
        return [JSONBytes(removed(from: parts.joined()))]
    }

    static func removed(from json: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        json.withUnsafeBytes { bytes in
            result.reserveCapacity(bytes.count)
            var copied = 0
            var next = 0
            while let start = position(in: bytes, from: next) {
                guard let end = endOfAddition(bytes, start) else {
                    next = start + mark.count
                    continue
                }
                result.append(contentsOf: bytes[copied..<start])
                copied = end
                next = end
                if result.last == UInt8(ascii: ",") {
                    result.removeLast()
                } else if end < bytes.count, bytes[end] == UInt8(ascii: ",") {
                    copied += 1
                }
            }
            result.append(contentsOf: bytes[copied...])
        }
        return result
    }

    private static let mark = Array("\"nephos".utf8)

    private static func position(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        guard let found = csimdjson_find(base + start, bytes.count - start, mark, mark.count) else { return nil }
        return found - base
    }

    /// Finds the end of an addition. An unescaped quote begins or ends a string, and a colon follows a key. The value
    /// of an addition is a number, a string, a Boolean or an array; the value of an app's own field with such a name is
    /// an object.
    /// - Returns: the index after the member; nil if the member is not an addition.
    private static func endOfAddition(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        guard start > 0, bytes[start - 1] == UInt8(ascii: "{") || bytes[start - 1] == UInt8(ascii: ",") else {
            return nil
        }
        var index = start + mark.count
        guard index < bytes.count, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) else { return nil }
        index = endOfString(bytes, start)
        guard index + 1 < bytes.count, bytes[index] == UInt8(ascii: ":"), bytes[index + 1] != UInt8(ascii: "{") else {
            return nil
        }
        index += 1
        var depth = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index = endOfString(bytes, index)
                continue
            case UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "]") where depth > 0: depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index }
            default: break
            }
            index += 1
        }
        return index
    }

    /// Returns the index after a string.
    /// - Parameter start: the index of the string's opening quote.
    private static func endOfString(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }
}
