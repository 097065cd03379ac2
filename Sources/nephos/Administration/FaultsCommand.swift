import NephosService
import NephosWire

/// The command `nephos faults`, about requests to a development server that go wrong on demand.
struct FaultsCommand {
    enum Action: String, CaseIterable {
        case list, add, clear
    }

    static let options =
        CloudAddress.withoutSocket(CloudAddress.containerOptions) + [CommandOption("--help", nil, "Show this help.")]

    static let help = """
        Have requests to 'nephos dev' go wrong, to see what an app does then.

        Usage: nephos faults list  [OPTIONS]
               nephos faults add   [OPTIONS] OPERATION [WHICH...] CODE
               nephos faults clear [OPTIONS] [NUMBER]

        OPERATION is any, save, delete, fetch, query, changes, zones, subscriptions,
        assets, sharing or notification; or keys or account, which any does not include.
        CODE is a code of CKError: networkFailure, quotaExceeded. WHICH narrows it down:

          type=NAME record=NAME zone=NAME database=private|public|shared
          account=NAME device=ID     whose requests; the ID is the client's clientId
          nth=N first=N every probability=P
                                     which of them; the next one, if absent
          when=before|after|amid     before the request arrives, after its commit, or
                                     amid the answer
          level=item|request         for one item, or the whole request
          retry=SECONDS              how long the client is asked to wait

        What another device can cause is caused, and CHANGES THE DATA: unknownItem and
        serverRecordChanged delete or save the record, zoneNotFound and userDeletedZone
        remove the zone with its records.

        In one text, as in X-Nephos-Fault, values with spaces are quoted: zone="My notes".

        list prints each fault's number, how often it happened, and the fault. Faults
        last until the server ends. 'nephos serve' has none.

        Example: nephos faults add save zone=Notes first=2 when=after networkFailure

        Options:
        \(CommandOption.help(options))

        """

    private var action: Action
    private var address: CloudAddress
    private var words: [String]
    private var number: Int?

    /// Runs the command to completion. The exit status reports success or failure.
    static func main(_ arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") { return Console.print(help) }
        let command = try FaultsCommand(arguments)
        try Cloud.run(on: command.address, command.run)
    }

    init(_ arguments: [String]) throws(UsageError) {
        let (action, rest) = try Subcommand.parse(arguments, of: "faults", as: Action.self)
        self.action = action
        let limit =
            switch action {
            case .list: 0
            case .add: 20
            case .clear: 1
            }
        let arguments = try Arguments(rest, options: Self.options, command: "faults", wordLimit: limit)
        address = try CloudAddress(arguments)
        words = arguments.words
        guard case .server = address.place else {
            throw UsageError("faults are those of a running 'nephos dev', and a data directory has none.")
        }
        if action == .add, words.isEmpty {
            throw UsageError("which fault? For example 'nephos faults add save networkFailure'.")
        }
        guard action == .clear, let word = words.first else { return }
        guard let number = Int(word) else { throw UsageError("'\(word)' is no number of 'nephos faults list'.") }
        self.number = number
    }

    private func run(on cloud: Cloud) throws {
        let response =
            switch action {
            case .list: try cloud.administer("faults/list", FaultsRequest(), as: FaultsResponse.self)
            case .add:
                try cloud.administer(
                    "faults/add", AddFaultRequest(fault: FaultWords.text(ofArguments: words)), as: FaultsResponse.self)
            case .clear: try cloud.administer("faults/clear", FaultsRequest(id: number), as: FaultsResponse.self)
            }
        Console.print(response.faults.map { "\($0.id)  \($0.happened) of \($0.matched)  \($0.fault)\n" }.joined())
    }
}
