import Notes

// notebook [TITLE]     adds a note, then lists all of them.

let store = NoteStore()
if let title = CommandLine.arguments.dropFirst().first { try await store.add(title) }
for title in try await store.titles() { print(title) }
