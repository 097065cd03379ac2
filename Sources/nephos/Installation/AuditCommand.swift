import NephosServer
import NephosService

/// `nephos audit`: sign-ins, administration and refusals of the last year.
enum AuditCommand {
    static let help = InstallationAction.help(
        "audit", "See the sign-ins, the administration and the refusals of the last year.", actions,
        """

        Events are chained in batches, each with the hash of the one before. The server's
        log has the hash of each batch ("audit: head …"): verify with --head finds out
        whether the audit was changed or cut since.

        """)

    private static let head = CommandOption("--head", "NUMBER:HASH", "A batch as the log had it.")

    private static let actions = [
        InstallationAction(name: "list", summary: "Print the events, the oldest first.") { installation, _ in
            try list(installation)
        },
        InstallationAction(
            name: "verify", summary: "Check that no event was changed or removed.", options: [head]
        ) {
            let found = try $0.send("audit/verify", .init(head: $1["--head"]))
            if let problem = found.problem { throw Cloud.Failure(message: problem) }
            guard let head = found.head else { return Console.print("the audit has no batch yet\n") }
            Console.print("the audit is whole: \(found.batches ?? 0) batches, head \(head)\n")
        },
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "audit", help: help, actions)
    }

    private static func list(_ installation: AdministeredInstallation) throws {
        var batch: Int64 = 0
        while true {
            let page = try installation.send("audit/list", .init(batch: batch))
            let events = page.events ?? []
            if events.isEmpty, batch == 0 { Console.print("no events\n") }
            for event in events { Console.print("\(line(of: event))\n") }
            guard case .number(let next)? = page.next, next > batch else { return }
            batch = next
        }
    }

    private static func line(of event: AuditedEvent) -> String {
        let time = event.time.map { LogTime.text($0) } ?? "-"
        let actor = event.actor.isEmpty ? "-" : event.actor
        let address = event.address.isEmpty ? "" : " from \(NetworkText.readable(event.address))"
        let count = event.count.map { " (\($0) times)" } ?? ""
        return Console.printable("\(time)  \(actor)\(address)  \(event.event)  \(event.object)\(count)")
    }
}
