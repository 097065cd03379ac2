import CloudKit

// Lists that several people keep, encrypted on their devices. Start a service with `make run`, then in two terminals:
//
//     NEPHOS_TOKEN=dev:alice swift run SharedLists share Groceries bob@localhost
//     NEPHOS_TOKEN=dev:bob   swift run SharedLists accept http://127.0.0.1:8484/share/…
//     NEPHOS_TOKEN=dev:bob   swift run SharedLists watch
//     NEPHOS_TOKEN=dev:alice swift run SharedLists add Groceries Milk
//     NEPHOS_TOKEN=dev:alice swift run SharedLists remove Groceries bob@localhost

let usage = """
    Usage: SharedLists share NAME [EMAIL]        make a list and share it; without an address with everybody
           SharedLists share-zone NAME [EMAIL]   the same, with a zone of its own
           SharedLists share-once NAME           the same, with the first who uses the link
           SharedLists share-on-request NAME     the same, with those who ask for it and are approved
           SharedLists ask URL
           SharedLists approve NAME
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

func url(_ text: String) -> URL {
    guard let url = URL(string: text) else {
        print("\(text) is no URL")
        exit(2)
    }
    return url
}

let lists = SharedLists(container: CKContainer(identifier: "iCloud.org.example.SharedLists"))
let words = Array(CommandLine.arguments.dropFirst())

do {
    switch (words.first, words.count) {
    case ("share", 2...3):
        print(try await lists.share(words[1], with: words.count > 2 ? words[2] : nil).absoluteString)
    case ("share-zone", 2...3):
        print(try await lists.shareZone(words[1], with: words.count > 2 ? words[2] : nil).absoluteString)
    case ("share-once", 2): print(try await lists.shareOnce(words[1]).absoluteString)
    case ("share-on-request", 2): print(try await lists.shareOnRequest(words[1]).absoluteString)
    case ("ask", 2): try await lists.ask(url(words[1]))
    case ("approve", 2): try await lists.approve(words[1])
    case ("accept", 2): print("accepted \(try await lists.accept(url(words[1])))")
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
