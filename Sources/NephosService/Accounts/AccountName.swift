import NephosWire
@_spi(_Unicode) import Swift

/// The name by which an account signs in. Its canonical form is the composed one (Unicode's NFC), which is what keyboards
/// make: "café" is one account, however its "é" was written.
enum AccountName {
    static func canonical(_ name: String) -> String {
        name.hasASCIIOnly ? name : String(String.UnicodeScalarView(name._nfc))
    }

    /// The forms under which an account may be stored, the canonical one first: before there was one, an account was
    /// stored under the form that came first.
    static func stored(_ name: String) -> [String] {
        if name.hasASCIIOnly { return [name] }
        var forms: [String] = []
        for form in [canonical(name), name, String(String.UnicodeScalarView(name._nfd))]
        where !forms.contains(where: { $0.hasSameBytes(as: form) }) {
            forms.append(form)
        }
        return forms
    }
}
