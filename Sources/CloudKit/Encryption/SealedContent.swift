import Foundation
import NephosWire

/// The plaintext encoding of an encrypted field's value (Documentation/Encryption.md). Numbers are big-endian.
enum SealedContent {
    /// Returns the encoding of a value; nil for a value that an encrypted field cannot contain.
    static func bytes(of value: FieldValue) -> [UInt8]? {
        switch value {
        case .string(let text): return Array(text.utf8)
        case .bytes(let bytes): return bytes
        case .int64(let number): return bigEndian(UInt64(bitPattern: number))
        case .double(let number): return bigEndian(number.bitPattern)
        case .timestamp(let time): return bigEndian(time.seconds.bitPattern)
        case .location(let location): return bytes(of: location)
        case .list(_, let elements):
            var result: [UInt8] = []
            for element in elements {
                guard let bytes = bytes(of: element) else { return nil }
                result += bigEndian(UInt64(bytes.count)).suffix(4)
                result += bytes
            }
            return result
        case .reference, .asset, .sealed: return nil
        }
    }

    /// Returns the value of an encoding; nil unless `bytes(of:)` of a value with this type returns these bytes.
    static func value(_ bytes: ArraySlice<UInt8>, type: FieldType) -> FieldValue? {
        let value = type.isList ? list(bytes, of: type.scalar) : scalar(bytes, type.scalar)
        return value?.problem == nil ? value : nil
    }

    private static func list(_ bytes: ArraySlice<UInt8>, of scalar: FieldType.Scalar) -> FieldValue? {
        var rest = bytes
        var elements: [FieldValue] = []
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard count <= rest.count, let element = self.scalar(rest.prefix(count), scalar) else { return nil }
            elements.append(element)
            rest = rest.dropFirst(count)
        }
        return .list(of: scalar, elements)
    }

    private static func scalar(_ bytes: ArraySlice<UInt8>, _ scalar: FieldType.Scalar) -> FieldValue? {
        switch scalar {
        case .string: return String(validating: bytes, as: UTF8.self).map(FieldValue.string)
        case .bytes: return .bytes(Array(bytes))
        case .int64: return number(bytes).map { .int64(Int64(bitPattern: $0)) }
        case .double: return number(bytes).map { .double(Double(bitPattern: $0)) }
        case .timestamp: return number(bytes).map { .timestamp(timestamp($0)) }
        case .location: return location(bytes).map(FieldValue.location)
        case .reference, .asset, .unknown: return nil
        }
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        bytes.count == 8 ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private static func timestamp(_ bits: UInt64) -> Timestamp {
        Timestamp(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
    }

    // MARK: Locations

    /// Returns a bit mask of the optional members, then the latitude, the longitude and the members that are present.
    private static func bytes(of location: LocationValue) -> [UInt8] {
        let members = [
            location.horizontalAccuracy, location.verticalAccuracy, location.altitude, location.speed, location.course,
            location.timestamp?.seconds,
        ]
        var flags: UInt8 = 0
        for (index, member) in members.enumerated() where member != nil { flags |= 1 << UInt8(index) }
        let numbers = [location.latitude, location.longitude] + members.compactMap(\.self)
        return [flags] + numbers.flatMap { bigEndian($0.bitPattern) }
    }

    private static func location(_ bytes: ArraySlice<UInt8>) -> LocationValue? {
        guard let flags = bytes.first, flags < 1 << 6, bytes.count == 1 + 8 * (2 + flags.nonzeroBitCount) else {
            return nil
        }
        var rest = bytes.dropFirst()
        func next() -> UInt64 {
            defer { rest = rest.dropFirst(8) }
            return number(rest.prefix(8)) ?? 0
        }
        func member(_ index: UInt8) -> UInt64? { flags & 1 << index == 0 ? nil : next() }
        var location = LocationValue(latitude: Double(bitPattern: next()), longitude: Double(bitPattern: next()))
        location.horizontalAccuracy = member(0).map(Double.init(bitPattern:))
        location.verticalAccuracy = member(1).map(Double.init(bitPattern:))
        location.altitude = member(2).map(Double.init(bitPattern:))
        location.speed = member(3).map(Double.init(bitPattern:))
        location.course = member(4).map(Double.init(bitPattern:))
        location.timestamp = member(5).map(timestamp)
        return location
    }
}
