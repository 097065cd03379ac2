/// Returns an object's address in the form that descriptions use: `0x` and hexadecimal digits.
func address(of object: AnyObject) -> String {
    "0x" + String(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()), radix: 16)
}
