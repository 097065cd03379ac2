package import NephosStorage

/// What an adoption makes of the names of `nephos dev`. The rules:
///
/// - a name is one person in all stores, and becomes the sign-in name that the operator gives it, or else its own canonical
///   form;
/// - several names become one account only if the operator gave each of them the sign-in name, and no store has two of them;
/// - no account of the installation has the sign-in name already;
/// - what was decided before stays.
package struct AdoptionPlan: Sendable {
    /// The names of `nephos dev` in a store.
    struct Names: Sendable {
        var store: StoreID
        /// The canonical names of the live accounts; none in a store that was adopted.
        var accounts: Set<String> = []
        /// The accounts for whose devices the service keeps keys.
        var withKeptKeys: Set<String> = []
        /// The addresses of invitations.
        var addresses: Set<String> = []
        /// The names of live accounts that have the form of an account's ID.
        var ids: Set<String> = []
    }

    /// An account of the installation that names become.
    package struct Person: Hashable, Sendable {
        package var signInName: String
        /// The names of `nephos dev`, sorted.
        package var names: [String]
        package var stores: [StoreID]
        /// Whether the service keeps keys for the account's devices, which become a recovery key.
        package var hasKeptKeys: Bool
        /// Whether an earlier run wrote the account's recovery key.
        package var hasRecoveryKey: Bool { recoveryKeyHash != nil }

        /// The account's ID, if it was decided before.
        var id: String?
        var recoveryKeyHash: String?
    }

    /// The accounts, sorted by their sign-in names.
    package private(set) var people: [Person] = []
    /// The stores whose accounts are not adopted.
    package private(set) var stores: [StoreID]
    /// The reasons for which nothing can be adopted; empty if there are none.
    package private(set) var problems: [String] = []
    /// The sign-in names of names that were invited and have no account.
    private(set) var invited: [String: String] = [:]
    /// Whether an earlier run began, and has not finished.
    package let isContinued: Bool
    /// Whether the data is a production server's already, and every account is the installation's.
    package let isDone: Bool

    /// - Parameters:
    ///   - given: the sign-in names that the operator gives to names.
    ///   - decided: the decisions of an earlier run.
    ///   - taken: the sign-in names of the installation's other accounts.
    ///   - isProduction: whether the installation has containers.
    init(
        _ stores: [Names], given: [String: String], decided: [String: AdoptedName] = [:], taken: Set<String> = [],
        isProduction: Bool = false
    ) {
        self.stores = stores.filter { !$0.accounts.isEmpty }.map(\.store)
        isContinued = !decided.isEmpty
        isDone = isProduction && decided.isEmpty && self.stores.isEmpty
        let given = Dictionary(
            given.map { (AccountName.canonical($0), SignInName.canonical($1)) }, uniquingKeysWith: { $1 })
        let names = Set(stores.flatMap(\.accounts)).union(decided.filter { $1.account != nil }.keys)
        let addresses = Set(stores.flatMap(\.addresses)).union(decided.keys)
        checkGiven(given, names, addresses, decided)
        if !isProduction { for names in stores { checkIDs(names) } }
        let groups = Dictionary(grouping: names) {
            decided[$0]?.signInName ?? given[$0] ?? SignInName.canonical($0)
        }
        for (signInName, names) in groups.sorted(by: { $0.key < $1.key }) {
            let isExplicit = names.allSatisfy { given[$0] != nil || decided[$0] != nil }
            check(signInName, of: names.sorted(), isExplicit: isExplicit, stores, taken)
            people.append(
                Person(
                    signInName: signInName, names: names.sorted(),
                    stores: stores.filter { !$0.accounts.isDisjoint(with: names) }.map(\.store),
                    hasKeptKeys: stores.contains { !$0.withKeptKeys.isDisjoint(with: names) },
                    id: names.compactMap { decided[$0]?.account }.first,
                    recoveryKeyHash: names.compactMap { decided[$0]?.recoveryKeyHash }.first))
        }
        for name in addresses.subtracting(names) {
            guard let signInName = decided[name]?.signInName ?? given[name] else { continue }
            invited[name] = signInName
            if let problem = Self.problem(of: signInName, of: name) { problems.append(problem) }
        }
    }

    /// Before an adoption there are no IDs: an account with such a name would never be adopted.
    private mutating func checkIDs(_ names: Names) {
        for id in names.ids.sorted() {
            problems.append(
                "\(names.store.container), \(names.store.environment) has an account '\(id)', which is the form of an ID: if "
                    + "the container is that of a production server, it needs no adoption but 'nephos containers create'"
            )
        }
    }

    private mutating func checkGiven(
        _ given: [String: String], _ names: Set<String>, _ addresses: Set<String>, _ decided: [String: AdoptedName]
    ) {
        for (name, signInName) in given.sorted(by: { $0.key < $1.key }) {
            if let decided = decided[name]?.signInName, decided != signInName {
                problems.append("'\(name)' became '\(decided)' when the adoption began")
            } else if !names.contains(name), !addresses.contains(name) {
                problems.append("no account and no invitation has the name '\(name)' that '--names' gives")
            }
        }
    }

    private mutating func check(
        _ signInName: String, of names: [String], isExplicit: Bool, _ stores: [Names], _ taken: Set<String>
    ) {
        let list = names.map { "'\($0)'" }.joined(separator: ", ")
        if let problem = Self.problem(of: signInName, of: names[0]) { problems.append(problem) }
        if taken.contains(signInName) {
            problems.append("\(list): there is an account '\(signInName)' already; give another name by '--names'")
        }
        guard names.count > 1 else { return }
        if let both = stores.first(where: { $0.accounts.intersection(names).count > 1 }) {
            problems.append(
                "\(list) are accounts of \(both.store.container), \(both.store.environment), and cannot both become "
                    + "'\(signInName)': give them different names by '--names'")
        } else if !isExplicit {
            problems.append(
                "\(list) would become one account '\(signInName)': give each of them a name by '--names', the same one "
                    + "if they are one person")
        }
    }

    private static func problem(of signInName: String, of name: String) -> String? {
        do throws(ServiceError) {
            try SignInName.check(signInName)
            return nil
        } catch {
            return "'\(name)' cannot become '\(signInName)': \(error.reason); give it another name by '--names'"
        }
    }

    /// Returns the sign-in names of accounts that are named by them, or by names of `nephos dev`.
    /// - Throws: `invalidArguments` if no account that is adopted has a name.
    package func signInNames(of names: [String]) throws(ServiceError) -> [String] {
        var found: [String] = []
        for name in names {
            let (old, new) = (AccountName.canonical(name), SignInName.canonical(name))
            let person = people.first { $0.names.contains(old) } ?? people.first { $0.signInName == new }
            guard let person else { throw .invalid("no account that is adopted has the name '\(name)'") }
            found.append(person.signInName)
        }
        return found
    }

    mutating func note(_ problem: String) { problems.append(problem) }
}
