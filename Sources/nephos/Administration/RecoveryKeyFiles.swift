import Glibc
import NephosService
import NephosStorage

/// A directory with a file for each account's recovery key. Only the user of the command may read it.
struct RecoveryKeyFiles {
    private let directory: String

    /// Makes the directory, if it is missing.
    /// - Throws: `StorageError` if others may read or change it.
    init(_ directory: String) throws {
        try FileSystem.makeDirectory(directory)
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            throw StorageError(
                .inputOutput, "others may read or change \(directory): recovery keys need a directory of yours alone")
        }
        self.directory = directory
    }

    /// Writes a recovery key for each person, unless an earlier run wrote it. When this returns, the files are durable.
    /// - Returns: the keys by sign-in name.
    func write(for people: [AdoptionPlan.Person]) throws -> [String: String] {
        var keys: [String: String] = [:]
        var paths: Set<String> = []
        for person in people {
            let path = "\(directory)/\(Self.fileName(person.signInName))"
            guard paths.insert(path).inserted else {
                throw StorageError(.constraint, "two accounts would have the file \(path): give them shorter names")
            }
            if FileSystem.exists(path) {
                guard let key = try? ServerCredentials.line(of: path) else {
                    throw StorageError(.inputOutput, "\(path) is there already, and is no recovery key: move it away")
                }
                keys[person.signInName] = key
            } else if person.hasRecoveryKey {
                throw StorageError(
                    .inputOutput, "\(path), which an earlier run wrote, is missing: give the same '--recovery-keys DIR'"
                )
            } else {
                let key = Adoption.makeRecoveryKey()
                try FileSystem.write(key + "\n", to: path)
                keys[person.signInName] = key
            }
            Console.print("recovery key of \(person.signInName): \(path)\n")
        }
        return keys
    }

    /// The name of an account's file. Bytes that a path cannot have, or a terminal would not show, are in hexadecimal.
    static func fileName(_ signInName: String) -> String {
        let name = signInName.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "@"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "."):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
        // A name that is too long for a file is replaced by its start and its checksum.
        return (name.utf8.count <= 200 ? name : "\(name.prefix(160))~\(Checksum(Array(name.utf8)).value)") + ".txt"
    }
}
