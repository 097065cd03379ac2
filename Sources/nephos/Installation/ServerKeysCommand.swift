import NephosServer
import NephosService
import NephosWire

/// `nephos server-keys`: the keys with which programs sign requests to a public database.
enum ServerKeysCommand {
    static let help = InstallationAction.help(
        "server-keys", "Add the server-to-server keys of containers, list and revoke them.", actions,
        """

        A program signs its requests to the public database, as the user of its key:

          openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem
          openssl ec -in eckey.pem -pubout -out public.pem
          nephos server-keys create --container ID --public-key public.pem

        """)

    private static let container = CommandOption("--container", "ID", "The container, such as iCloud.org.example.App.")
    private static let environment = CommandOption(
        "--environment", "NAME", "development or production. Default: development")
    private static let publicKey = CommandOption("--public-key", "FILE", "The public key, in PEM.")
    private static let name = CommandOption("--name", "TEXT", "A name for people.")
    private static let replaces = CommandOption(
        "--replaces", "KEYID", "The new key takes over the user of this one, which is then to be revoked.")

    private static let actions = [
        InstallationAction(
            name: "create", summary: "Add a key, and print its ID.",
            options: [container, environment, publicKey, name, replaces]
        ) {
            let environment = $1["--environment"] ?? "development"
            guard ContainerEnvironment(rawValue: environment) != nil else {
                throw UsageError("'\(environment)' is unknown: '--environment' takes development or production.")
            }
            let pem = try ServerCredentials.text(of: try $1.require(publicKey))
            let made = try $0.send(
                "server-keys/create",
                .init(
                    container: try $1.require(container), environment: environment, name: $1["--name"], publicKey: pem,
                    replaces: $1["--replaces"]))
            Console.print("\(made.keyID ?? "")\n")
        },
        InstallationAction(name: "list", summary: "Print the keys, with their users.", options: [container]) {
            let keys = try $0.send("server-keys/list", .init(container: $1["--container"])).serverKeys ?? []
            if keys.isEmpty { Console.print("no server-to-server keys\n") }
            for key in keys {
                Console.print(
                    "\(key.keyID)  \(key.container), \(key.environment)  \(key.user)"
                        + "\(key.name.isEmpty ? "" : "  \(Console.printable(key.name))")\n")
            }
        },
        InstallationAction(name: "revoke", words: "KEYID", summary: "Revoke a key. Its user's records stay.") {
            _ = try $0.send("server-keys/revoke", .init(keyID: $1.words[0]))
            Console.print("server-to-server key revoked\n")
        },
    ]

    static func main(_ arguments: [String]) throws(UsageError) {
        try InstallationAction.main(arguments, of: "server-keys", help: help, actions)
    }
}
