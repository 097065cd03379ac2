/// The ID of an account of the installation, which each store keeps in place of a name: `id:` and 32 hexadecimal digits.
/// It is random, so it shows nothing of the person.
enum AccountID {
    private static let prefix = "id:"

    static func make(_ environment: ServiceEnvironment) -> String {
        prefix + environment.makeUUID().filter { $0 != "-" }.lowercased()
    }

    static func isOne(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }
}
