import Glibc

/// The command line: `nephos COMMAND [OPTIONS]`.
@main
struct Nephos {
    static let version = "0.1.0"

    static let help = """
        nephos \(version): CloudKit that anyone can run

        Usage: nephos COMMAND [OPTIONS]

        Commands:
          dev        Run the local CloudKit on this machine, for development and tests.
          query      Find records, count them, or explain how a query is answered.
          schema     Export, import, validate, reset and deploy a container's schema.
          zones      See accounts' zones, and take them away as their user can.
          deletions  Forget deletions before their time is over.
          roles      Give accounts the roles that a schema makes.

        Options:
          --help     Show this help; after a command, the command's.
          --version  Show the version.

        """

    static func main() {
        // Whoever reads our output may go away; then writing it fails, and that is all.
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandLine.arguments.dropFirst()
        do throws(UsageError) {
            try run(arguments.first, Array(arguments.dropFirst()))
        } catch {
            Console.fail(error.message, status: UsageError.exitStatus)
        }
    }

    private static func run(_ command: String?, _ arguments: [String]) throws(UsageError) {
        switch command {
        case nil: throw UsageError("no command given. See 'nephos --help'.")
        case "--help", "-h", "help": Console.print(help)
        case "--version": Console.print("nephos \(version)\n")
        case "schema": try SchemaCommand.main(arguments)
        case "dev": try DevCommand.main(arguments)
        case "query": try QueryCommand.main(arguments)
        case "zones": try ZonesCommand.main(arguments)
        case "deletions": try DeletionsCommand.main(arguments)
        case "roles": try RolesCommand.main(arguments)
        case let unknown?: throw UsageError("unknown command '\(unknown)'. See 'nephos --help'.")
        }
    }
}

/// Standard output and standard error, unbuffered.
enum Console {
    static func print(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    /// Says on standard error what is worth knowing.
    static func note(_ message: String) {
        write("nephos: \(message)\n", to: STDERR_FILENO)
    }

    /// A line on standard error.
    static func warn(_ line: String) {
        write(line + "\n", to: STDERR_FILENO)
    }

    /// Says on standard error what went wrong, and ends the process.
    static func fail(_ message: String, status: Int32 = 1) -> Never {
        note(message)
        exit(status)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
