import NephosWire
@_spi(_Unicode) import Swift

/// The name by which an account signs in. Its canonical form is composed (Unicode NFC), as keyboards write it: every
/// spelling of "café" is one account. `NAME@localhost` resolves to NAME: a service that verifies no addresses gives an
/// account that address.
enum AccountName {
    static func canonical(_ name: String) -> String {
        let name = withoutLocalhost(name)
        return name.hasASCIIOnly ? name : String(String.UnicodeScalarView(name._nfc))
    }

    private static let localhost = Array("@localhost".utf8)

    private static func withoutLocalhost(_ name: String) -> String {
        let bytes = name.utf8
        // `localhost` is lower case here; host names compare case-insensitively.
        guard bytes.count > localhost.count,
            bytes.suffix(localhost.count).elementsEqual(localhost, by: { $0 == $1 || $0 | 0x20 == $1 && $0 >= 0x41 })
        else { return name }
        return String(Substring(bytes.dropLast(localhost.count)))
    }

    /// The forms under which an account may be stored, the canonical form first. Earlier versions stored an account
    /// under the form of its first request.
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
