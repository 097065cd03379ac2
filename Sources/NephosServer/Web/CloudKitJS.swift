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
        var files: [String: UnsafeRawBufferPointer] = [:]
        for index in 0... {
            let embedded = cwebfiles_cloudkit(index)
            guard let name = embedded.name else { break }
            files[String(cString: name)] = UnsafeRawBufferPointer(start: embedded.bytes, count: embedded.count)
        }
        files[moduleTypes] = files[types]
        guard let sheet = files[sheet].map({ Form(Self.sheet, $0, loading: nil) }) else { return [:] }
        return files.reduce(into: [:]) { forms, file in
            forms[file.key] = file.key == Self.sheet ? sheet : Form(file.key, file.value, loading: sheet)
        }
    }()

    /// The sheet for sharing, which the scripts load by its version and hash.
    private static let sheet = "2/sharesheet.js"

    private static let types = "2/cloudkit.d.ts"
    /// The same types beside the module: TypeScript has another ending for them, and for what they name.
    private static let moduleTypes = "2/cloudkit.d.mts"

    /// The form at `/ck/{version}/{name}`; nil for none.
    static func form(version: String, name: String) -> Form? {
        forms.values.first { $0.version == version && $0.name == name }
    }
}

extension CloudKitJS.Form {
    /// - Parameter sheet: the form that the script loads; nil for none.
    fileprivate init(_ key: String, _ bytes: UnsafeRawBufferPointer, loading sheet: Self?) {
        name = String(key.drop { $0 != "/" }.dropFirst())
        let isTypes = name.hasSuffix("ts")
        contentType = "text/\(isTypes ? "plain" : "javascript"); charset=utf-8"
        self.bytes = JSONBytes(isTypes ? Self.types(bytes, name) : Self.script(bytes, loading: sheet))
        compressed = GzipBody.deflate(self.bytes.buffer).map(JSONBytes.init)
        let digest = Self.digest(self.bytes.buffer)
        integrity = "sha384-" + Data(digest).base64EncodedString()
        version = digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func types(_ bytes: UnsafeRawBufferPointer, _ name: String) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        return name.hasSuffix(".mts") ? text.replacing(#""./cloudkit""#, with: #""./cloudkit.mjs""#) : text
    }

    private static func script(_ bytes: UnsafeRawBufferPointer, loading sheet: Self?) -> String {
        let text = ScriptText.withoutComments(bytes)
        guard let sheet else { return text }
        return text.replacing("SHEET_VERSION", with: sheet.version).replacing("SHEET_INTEGRITY", with: sheet.integrity)
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
