import CloudKit

// Keeps a folder in step with the same folder elsewhere: run it twice, with two folders, against one `nephos dev`. A
// file that is put into one folder is copied to the other.
//
//     Photos FOLDER

guard let path = CommandLine.arguments.dropFirst().first else {
    say("Photos FOLDER")
    exit(64)
}
let folder = PhotoFolder(URL(fileURLWithPath: path))
await folder.start(CKContainer(identifier: "iCloud.org.example.Photos").privateCloudDatabase)
while true {
    await folder.scan()
    try await Task.sleep(for: .milliseconds(500))
}
