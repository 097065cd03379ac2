import NephosServer
import NephosService

/// `nephos accounts methods`: how an account of a production server signs in.
enum SignInMethodsAction {
    private static let remove = CommandOption(
        "--remove", "ID", "Remove the passkey or provider that is printed with this ID, or all.")

    static let action = InstallationAction(
        name: "methods", words: "NAME", summary: "Print how an account signs in, or remove passkeys and providers.",
        options: [remove]
    ) {
        guard let removed = $1["--remove"] else { return try list($1.words[0], $0) }
        let id = removed == "all" ? nil : removed
        let count = try $0.send("methods/remove", .init(account: $1.words[0], id: id)).count ?? 0
        Console.print("sign-in methods removed: \(count)\n")
    }

    private static func list(_ name: String, _ installation: AdministeredInstallation) throws {
        let answer = try installation.send("methods/list", .init(account: name))
        if answer.hasPassword == true { Console.print("password\n") }
        for method in answer.methods ?? [] {
            let label = method.label.isEmpty ? "" : "  \(Console.printable(method.label))"
            let since = LogTime.text(method.addedAt).prefix(10)
            let state = method.isUsable ? "" : ", which does not sign in at this server"
            Console.print(
                "\(method.id)  \(method.kind.rawValue) \(Console.printable(method.place))\(label), since \(since)\(state)\n"
            )
        }
        if answer.hasPassword != true, answer.methods?.isEmpty != false { Console.print("no sign-in methods\n") }
    }
}
