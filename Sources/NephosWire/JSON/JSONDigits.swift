/// Writes integers as decimal digits, eight digits at a time, because every record of an answer has several integers.
enum JSONDigits {
    /// The maximum number of bytes that `write` changes.
    static let most = 32

    /// Writes an integer.
    /// - Parameter output: memory of `most` bytes or more. The bytes after the digits can change.
    /// - Returns: the number of digits and sign bytes written.
    @inline(__always)
    static func write(_ value: Int64, to output: UnsafeMutablePointer<UInt8>) -> Int {
        var end = UnsafeMutableRawPointer(output)
        if value < 0 {
            output[0] = UInt8(ascii: "-")
            end += 1
        }
        let magnitude = value.magnitude
        if magnitude < hundredMillion {
            first(magnitude, to: &end)
        } else {
            let upper = magnitude / hundredMillion
            if upper < hundredMillion {
                first(upper, to: &end)
            } else {
                first(upper / hundredMillion, to: &end)
                next(upper % hundredMillion, to: &end)
            }
            next(magnitude &- upper &* hundredMillion, to: &end)
        }
        return end - UnsafeMutableRawPointer(output)
    }

    private static let hundredMillion: UInt64 = 100_000_000

    /// Writes a number below 100,000,000 without leading zeros.
    @inline(__always)
    private static func first(_ number: UInt64, to end: inout UnsafeMutableRawPointer) {
        let digits = digits(number)
        // The last digit is written even for zero.
        let zeros = min(7, digits.trailingZeroBitCount >> 3)
        let text = (digits | 0x3030_3030_3030_3030) &>> UInt64(8 * zeros)
        end.storeBytes(of: text.littleEndian, as: UInt64.self)
        end += 8 - zeros
    }

    /// Writes a number below 100,000,000 as eight digits, with leading zeros.
    @inline(__always)
    private static func next(_ number: UInt64, to end: inout UnsafeMutableRawPointer) {
        end.storeBytes(of: (digits(number) | 0x3030_3030_3030_3030).littleEndian, as: UInt64.self)
        end += 8
    }

    /// Returns eight digits, one in each byte, the first digit in the lowest byte. Splits the number into halves of
    /// four digits, these into halves of two digits, and these into digits. Each step splits all parts at once. Instead
    /// of dividing by 100 and by 10, multiplies by a fraction that is exact for numbers this small.
    @inline(__always)
    private static func digits(_ number: UInt64) -> UInt64 {
        let upper = number / 10_000
        let fours = upper | ((number &- upper &* 10_000) &<< 32)
        let hundreds = ((fours &* 10_486) &>> 20) & 0x0000_007F_0000_007F
        let twos = hundreds | ((fours &- hundreds &* 100) &<< 16)
        let tens = ((twos &* 103) &>> 10) & 0x000F_000F_000F_000F
        return tens | ((twos &- tens &* 10) &<< 8)
    }
}
