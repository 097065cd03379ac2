import CloudKit

// A list of contacts that several devices share through CKSyncEngine: run it twice against one `nephos dev`, and what is
// typed into one shows in the other.
//
//     ContactList [FILE]      keeps the contacts in FILE; without it, for this run only
//
//     set NAME PHONE          adds a contact or changes its number
//     remove NAME             removes a contact
//     list                    shows all
//     quit

let contacts = ContactList(file: CommandLine.arguments.dropFirst().first.map { URL(fileURLWithPath: $0) })
await contacts.start(CKContainer(identifier: "iCloud.org.example.ContactList").privateCloudDatabase)

let lines = AsyncStream<String> { continuation in
    // `readLine` blocks, so it has a thread of its own.
    let thread = Thread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
    }
    thread.start()
}

for await line in lines {
    let words = line.split(separator: " ", maxSplits: 2).map(String.init)
    switch (words.first, words.count) {
    case ("set", 3): await contacts.set(words[1], phone: words[2])
    case ("remove", 2): await contacts.remove(words[1])
    case ("list", 1):
        for contact in await contacts.contacts { say("\(contact.name): \(contact.phone)") }
    case ("quit", 1): exit(0)
    default: say("set NAME PHONE, remove NAME, list or quit")
    }
}
