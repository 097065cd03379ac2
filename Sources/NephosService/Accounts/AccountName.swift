import NephosWire
@_spi(_Unicode) import Swift

/// The name by which an account signs in. Its canonical form is the composed one (Unicode's NFC), which is what keyboards
/// make: "café" is one account, however its "é" was written. `NAME@localhost`, its address in a service that proves none, is
/// NAME.
enum AccountName {
    static func canonical(_ name: String) -> String {
        let name = withoutLocalhost(name)
        return name.hasASCIIOnly ? name : String(String.UnicodeScalarView(name._nfc))
    }

    private static let localhost = Array("@localhost".utf8)

    private static func withoutLocalhost(_ name: String) -> String {
        let bytes = name.utf8
        // `localhost` in lower case; host names are compared without regard to case.
        guard bytes.count > localhost.count,
            bytes.suffix(localhost.count).elementsEqual(localhost, by: { $0 == $1 || $0 | 0x20 == $1 && $0 >= 0x41 })
        else { return name }
        return String(Substring(bytes.dropLast(localhost.count)))
    }

    /// The forms under which an account may be stored, the canonical one first: before there was one, an account was
    /// stored under the form that came first.
    static func stored(_ name: String) -> [String] {
        if name.hasASCIIOnly {
            let canonical = canonical(name)
            return canonical.utf8.count == name.utf8.count ? [name] : [canonical, name]
        }
        var forms: [String] = []
        for form in [canonical(name), name, String(String.UnicodeScalarView(name._nfd))]
        where !forms.contains(where: { $0.hasSameBytes(as: form) }) {
            forms.append(form)
        }
        return forms
    }
}
