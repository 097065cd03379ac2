import CWebFiles
import CZlib
import NephosWire

/// The files of the dashboard. They hold no data: their scripts ask the routes of the administration for it.
enum WebFiles {
    static let module = "dashboard"
    static let path = "/" + module

    /// Whether a request follows a link to the dashboard, also from a page elsewhere.
    static func takesNavigation(_ request: HTTPRequest) -> Bool {
        request.method == .get && request.fetchMode == "navigate"
            && ["/", path].contains(String(request.target.prefix { $0 != "?" }))
    }

    /// The file at `/dashboard`, for every view: a view is in the query of its address.
    static let page = "index.html"

    /// A file and its entity tag.
    struct File: Sendable {
        let name: String
        let contentType: String
        let bytes: JSONBytes
        let tag: String
        /// The bytes in gzip format; nil without memory for them.
        let compressed: JSONBytes?

        /// The entity tag of the bytes in gzip format.
        var compressedTag: String { "\(tag.dropLast())-gzip\"" }
    }

    /// All files by name. The bytes are copied out of the program once.
    static let files: [String: File] = {
        var files: [String: File] = [:]
        for index in 0... {
            let embedded = cwebfiles_dashboard(index)
            guard let name = embedded.name else { break }
            let file = File(String(cString: name), UnsafeRawBufferPointer(start: embedded.bytes, count: embedded.count))
            files[file.name] = file
        }
        return files
    }()
}

extension WebFiles.File {
    fileprivate init(_ name: String, _ bytes: UnsafeRawBufferPointer) {
        self.name = name
        contentType = Self.contentType(name)
        self.bytes = JSONBytes(copying: bytes)
        compressed = GzipBody.deflate(bytes).map(JSONBytes.init)
        let checksum = crc32(0, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, UInt32(bytes.count))
        tag = "\"\(String(checksum, radix: 16))-\(bytes.count)\""
    }

    private static func contentType(_ name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
