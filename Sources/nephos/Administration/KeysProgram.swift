import Glibc
import NephosWire

/// The program `nephos-keys`, an executable beside this one.
enum KeysProgram {
    /// Replaces this process with `nephos-keys`, which reads the command from its standard input.
    static func run(_ command: DeviceCommand) -> Never {
        guard let path else { Console.fail("the path of this executable is unknown: /proc/self/exe cannot be read.") }
        var ends: [Int32] = [-1, -1]
        let bytes = command.encoded()
        guard bytes.count <= pipeCapacity else {
            Console.fail("the command has \(bytes.count) bytes, at most \(pipeCapacity) are passed on.")
        }
        guard pipe(&ends) == 0, write(ends[1], bytes, bytes.count) == bytes.count,
            close(ends[1]) == 0, dup2(ends[0], STDIN_FILENO) == STDIN_FILENO
        else { Console.fail("nephos-keys cannot be started: \(String(cString: strerror(errno)))") }
        close(ends[0])
        path.withCString { name in
            var arguments: [UnsafeMutablePointer<CChar>?] = [UnsafeMutablePointer(mutating: name), nil]
            _ = execv(name, &arguments)
        }
        Console.fail(
            "\(path) cannot be started, \(String(cString: strerror(errno))): 'make build' makes it, a package has it.")
    }

    /// The size in bytes that every pipe holds without a reader: a page. A command has some hundred bytes.
    private static let pipeCapacity = 4096

    private static var path: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let own = String(decoding: buffer[..<count].map(UInt8.init), as: UTF8.self)
        return own.lastIndex(of: "/").map { own[...$0] + "nephos-keys" }
    }
}
