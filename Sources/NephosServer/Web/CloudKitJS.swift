import CGnuTLS
import CWebFiles
import FoundationEssentials
import NephosWire

/// The forms of CloudKit JS, a script of our own with the names and behaviour of Apple's. They hold no data.
enum CloudKitJS {
    static let module = "ck"
    static let path = "/" + module

    /// A form as it is served.
    struct Form: Sendable {
        /// The name of the file, such as `cloudkit.js`.
        let name: String
        let contentType: String
        let bytes: JSONBytes
        /// The bytes in gzip format; nil without memory for them.
        let compressed: JSONBytes?
        /// The value of the attribute `integrity` of an element that loads the form.
        let integrity: String
        /// The component of the address at which this form's bytes never change.
        let version: String
    }

    /// All forms by `{release}/{name}`, where the release is 1 or 2. The bytes are copied out of the program once.
    static let forms: [String: Form] = {
        var forms: [String: Form] = [:]
        for index in 0... {
            let embedded = cwebfiles_cloudkit(index)
            guard let name = embedded.name else { break }
            let key = String(cString: name)
            forms[key] = Form(key, UnsafeRawBufferPointer(start: embedded.bytes, count: embedded.count))
        }
        return forms
    }()

    /// The form at `/ck/{version}/{name}`; nil for none.
    static func form(version: String, name: String) -> Form? {
        forms.values.first { $0.version == version && $0.name == name }
    }
}

extension CloudKitJS.Form {
    fileprivate init(_ key: String, _ bytes: UnsafeRawBufferPointer) {
        name = String(key.drop { $0 != "/" }.dropFirst())
        let isTypes = name.hasSuffix(".d.ts")
        contentType = "text/\(isTypes ? "plain" : "javascript"); charset=utf-8"
        self.bytes = isTypes ? JSONBytes(copying: bytes) : JSONBytes(ScriptText.withoutComments(bytes))
        compressed = GzipBody.deflate(self.bytes.buffer).map(JSONBytes.init)
        let digest = Self.digest(self.bytes.buffer)
        integrity = "sha384-" + Data(digest).base64EncodedString()
        version = digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The SHA-384 of the bytes (Subresource Integrity).
    private static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var data = gnutls_datum_t(
            data: UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress),
            size: UInt32(bytes.count))
        var size = 48
        var digest = [UInt8](repeating: 0, count: size)
        guard gnutls_fingerprint(GNUTLS_DIG_SHA384, &data, &digest, &size) == 0 else {
            fatalError("GnuTLS cannot compute a hash")
        }
        return digest
    }
}
