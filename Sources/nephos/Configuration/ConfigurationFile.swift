import Glibc
import NephosWire

/// The configuration file of `nephos serve`: lines `name = value`, empty lines, and lines that begin with `#`.
struct ConfigurationFile {
    /// The file that is read if no other is named, and if it exists.
    static let defaultPath = "/etc/nephos/nephos.conf"
    /// In bytes.
    static let sizeLimit = 64 * 1024

    let path: String
    private let bytes: [UInt8]

    init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Reads the file.
    /// - Parameters:
    ///   - named: the path; nil for the default one.
    ///   - checksOwner: whether the file is to be root's or this user's.
    /// - Returns: the file; nil if none is named and the default one does not exist.
    /// - Throws: `UsageError` for a file that cannot be read, that is no file, that users other than root and the
    ///   server's may change or replace, or that exceeds the limit.
    static func read(_ named: String?, checksOwner: Bool = true) throws(UsageError) -> ConfigurationFile? {
        let path = named ?? defaultPath
        // Without O_NONBLOCK, opening a pipe would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if named == nil, errno == ENOENT { return nil }
            throw UsageError("the configuration file \(path) cannot be read: \(String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw UsageError("the configuration file \(path) is not a file.")
        }
        guard status.st_mode & 0o022 == 0,
            !checksOwner || status.st_uid == 0 || status.st_uid == geteuid()
        else {
            throw UsageError(
                "other users may change the configuration file \(path): it is to be root's or the server's user's "
                    + "(chown, chmod 644).")
        }
        try checkDirectories(of: path, checksOwner)
        return ConfigurationFile(path: path, bytes: try contents(descriptor, path))
    }

    /// Refuses a path of which other users may replace a part: the file, a directory or a symbolic link on the way to it.
    private static func checkDirectories(of path: String, _ checksOwner: Bool) throws(UsageError) {
        var directory = "/"
        let absolute = path.hasPrefix("/") ? path : "\(currentDirectory)/\(path)"
        var parts = Array(absolute.split(separator: "/").map(String.init).reversed())
        var links = 0
        while let part = parts.popLast() {
            if part == "." { continue }
            if part == ".." {
                directory = parent(of: directory)
                continue
            }
            try check(directory, of: path, checksOwner)
            let entry = directory == "/" ? "/\(part)" : "\(directory)/\(part)"
            guard let target = link(entry) else {
                directory = entry
                continue
            }
            links += 1
            // The file was opened, so its links end; those of a path that changes meanwhile may not.
            guard links <= linkLimit, !checksOwner || isTrusted(link: entry) else {
                throw UsageError(
                    "other users may replace the configuration file \(path): the link \(entry) is to be root's or the "
                        + "server's user's (chown -h).")
            }
            if target.hasPrefix("/") { directory = "/" }
            parts += target.split(separator: "/").map(String.init).reversed()
        }
    }

    private static let linkLimit = 40

    private static func check(_ directory: String, of path: String, _ checksOwner: Bool) throws(UsageError) {
        var status = stat()
        // With the sticky bit users replace only entries of their own, and none by a read-only mount, such as a Kubernetes
        // ConfigMap of mode 0777.
        guard stat(directory, &status) == 0,
            status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 || isReadOnly(directory),
            !checksOwner || status.st_uid == 0 || status.st_uid == geteuid()
        else {
            throw UsageError(
                "other users may replace the configuration file \(path): the directory \(directory) is to be root's or "
                    + "the server's user's (chown, chmod 755).")
        }
    }

    private static func isReadOnly(_ directory: String) -> Bool {
        var status = statvfs()
        return statvfs(directory, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }

    private static func isTrusted(link: String) -> Bool {
        var status = stat()
        return lstat(link, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid())
    }

    private static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    private static func parent(of directory: String) -> String {
        "/" + directory.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// Returns the target of a symbolic link; nil for another entry.
    private static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { target in
            let size = target.baseAddress.map { readlink(path, $0, target.count) } ?? -1
            return size < 0 ? nil : String(decoding: target[..<size].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    private static func contents(_ descriptor: Int32, _ path: String) throws(UsageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
        var size = 0
        while size < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress.map { $0 + size }, $0.count - size)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw UsageError("the configuration file \(path) cannot be read: \(String(cString: strerror(errno))).")
            }
            if count == 0 { break }
            size += count
        }
        guard size <= sizeLimit else {
            throw UsageError("the configuration file \(path) is larger than \(sizeLimit / 1024) KB.")
        }
        // Editors of Windows begin a text with a byte order mark.
        return Array(bytes.prefix(size).trimmingPrefix([0xEF, 0xBB, 0xBF]))
    }

    /// Returns the settings of the file: the lines of each setting, in the order of their first lines.
    /// - Throws: `UsageError` with the line, for a line that is no setting, an unknown name, a missing value, and a name
    ///   that is given twice without being repeatable.
    func settings(_ options: [CommandOption]) throws(UsageError) -> [[GivenSetting]] {
        var found: [[GivenSetting]] = []
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let setting = try setting(in: line, .line(index + 1, file: path), options) else { continue }
            guard let same = found.firstIndex(where: { $0[0].option.name == setting.option.name }) else {
                found.append([setting])
                continue
            }
            guard setting.option.isRepeatable else {
                throw UsageError(
                    "\(setting.source): '\(setting.option.settingName)' is given twice, first in \(found[same][0].source)."
                )
            }
            found[same].append(setting)
        }
        return found
    }

    private func setting(
        in line: ArraySlice<UInt8>, _ source: SettingSource, _ options: [CommandOption]
    ) throws(UsageError) -> GivenSetting? {
        guard let text = String(validating: line, as: UTF8.self) else {
            throw UsageError("\(source): the line is not valid UTF-8.")
        }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
        let name = parts[0]
        if name.isEmpty && parts.count == 1 || name.hasPrefix("#") { return nil }
        guard let option = options.first(where: { $0.settingName == name }) else {
            // Without the '=' after the name, what follows may be a secret, which may have one.
            let word = String(name.prefix { !" \t:".contains($0) })
            let meant = Suggestion.text(for: word, among: options.map(\.settingName))
            throw UsageError(
                "\(source): there is no setting '\(Console.printable(String(word.prefix(100))))'.\(meant) "
                    + (word != name || parts.count == 1 ? "A line is NAME = VALUE. " : "")
                    + "See 'nephos serve --help'.")
        }
        guard parts.count == 2, !parts[1].isEmpty else {
            throw UsageError("\(source): '\(name)' has no value: write \(name) = \(option.value ?? "true").")
        }
        return try GivenSetting(option, parts[1], from: source)
    }

    private static func trimmed(_ text: Substring) -> String {
        let isSpace = { (character: Character) in " \t\r".contains(character) }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
