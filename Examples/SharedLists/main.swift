import CloudKit

// Lists that several people keep. Start a service with `make run`, then in two terminals:
//
//     NEPHOS_TOKEN=dev:alice swift run SharedLists share Groceries bob@localhost
//     NEPHOS_TOKEN=dev:bob   swift run SharedLists accept http://127.0.0.1:8484/share/…
//     NEPHOS_TOKEN=dev:bob   swift run SharedLists watch
//     NEPHOS_TOKEN=dev:alice swift run SharedLists add Groceries Milk
//     NEPHOS_TOKEN=dev:alice swift run SharedLists remove Groceries bob@localhost

let usage = """
    Usage: SharedLists share NAME [EMAIL]        make a list and share it; without an address with everybody
           SharedLists share-zone NAME [EMAIL]   the same, with a zone of its own
           SharedLists accept URL
           SharedLists show
           SharedLists watch                     show the lists again when others change them
           SharedLists add NAME ITEM
           SharedLists remove NAME EMAIL

    """

func show(_ lists: [SharedLists.List]) {
    for list in lists {
        print("\(list.name)\(list.owner == nil ? "" : " (shared with you)"): \(list.items.joined(separator: ", "))")
    }
    if lists.isEmpty { print("no lists") }
    fflush(nil)
}

let lists = SharedLists(container: CKContainer(identifier: "iCloud.org.example.SharedLists"))
let words = Array(CommandLine.arguments.dropFirst())

do {
    switch (words.first, words.count) {
    case ("share", 2...3):
        print(try await lists.share(words[1], with: words.count > 2 ? words[2] : nil)?.absoluteString ?? "")
    case ("share-zone", 2...3):
        print(try await lists.shareZone(words[1], with: words.count > 2 ? words[2] : nil)?.absoluteString ?? "")
    case ("accept", 2):
        guard let url = URL(string: words[1]) else {
            print("\(words[1]) is no URL")
            exit(2)
        }
        print("accepted \(try await lists.accept(url))")
    case ("show", 1): show(try await lists.all())
    case ("watch", 1): try await lists.watch(show)
    case ("add", 3): try await lists.add(words[2], to: words[1])
    case ("remove", 3): try await lists.remove(words[2], from: words[1])
    default:
        print(usage)
        exit(2)
    }
} catch {
    print("\(error)")
    exit(1)
}
