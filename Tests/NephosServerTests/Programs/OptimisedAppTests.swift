import Foundation
import Testing

/// Apps are shipped optimised. Then the compiler looks into the library's classes, which it does not do in a debug build. It
/// has crashed there: the library had added a member to a class of Foundation's that has one of that name, and a subclass.
@Suite struct OptimisedAppTests {
    private static let classes = """
        CKAcceptSharesOperation CKAllowedSharingOptions CKAsset CKContainer CKDatabase CKDatabaseNotification
        CKDatabaseOperation CKDatabaseSubscription CKDiscoverAllUserIdentitiesOperation
        CKDiscoverUserIdentitiesOperation CKFetchDatabaseChangesOperation CKFetchNotificationChangesOperation
        CKFetchRecordChangesOperation CKFetchRecordZoneChangesOperation
        CKFetchRecordZoneChangesOperation.ZoneConfiguration CKFetchRecordZoneChangesOperation.ZoneOptions
        CKFetchRecordZonesOperation CKFetchRecordsOperation
        CKFetchShareMetadataOperation CKFetchShareParticipantsOperation CKFetchSubscriptionsOperation
        CKFetchWebAuthTokenOperation CKLocationSortDescriptor CKMarkNotificationsReadOperation CKModifyBadgeOperation
        CKModifyRecordZonesOperation CKModifyRecordsOperation CKModifySubscriptionsOperation CKNotification
        CKNotification.ID CKOperation CKOperation.Configuration CKOperationGroup CKQuery CKQueryNotification
        CKQueryOperation CKQueryOperation.Cursor CKQuerySubscription CKRecord CKRecord.ID CKRecord.Reference
        CKRecordZone CKRecordZone.ID CKRecordZoneNotification CKRecordZoneSubscription CKServerChangeToken CKShare
        CKShare.AccessRequester CKShare.BlockedIdentity CKShare.Metadata CKShare.Participant
        CKShareRequestAccessOperation CKSubscription CKSubscription.NotificationInfo CKSyncEngine
        CKSystemSharingUIObserver CKUserIdentity CKUserIdentity.LookupInfo CLLocation
        """.split { $0.isWhitespace }.map(String.init)

    @Test func `an app that uses every class can be built optimised`() async throws {
        let app = """
            import CloudKit
            import Foundation

            @main struct App {
                static func main() {
                    let classes: [AnyClass] = [\(Self.classes.map { "\($0).self" }.joined(separator: ", "))]
                    print(classes)
                    let query = CKQuery(recordType: "City", predicate: NSPredicate(format: "name BEGINSWITH %@", "A"))
                    let here = CLLocation(latitude: 1, longitude: 2)
                    query.sortDescriptors = [
                        NSSortDescriptor(key: "name", ascending: true),
                        CKLocationSortDescriptor(key: "place", relativeLocation: here),
                    ]
                    print(query.sortDescriptors?.map(\\.key) ?? [], query.sortDescriptors?.first?.key ?? "")
                }
            }
            """
        try await build(app)
    }

    @Test func `an app that subclasses CloudKit's classes can be built optimised`() async throws {
        let plain = ["CKRecord", "CKQueryOperation", "CKModifyRecordsOperation", "CKOperation", "CKShare", "CKAsset"]
        let app =
            plain.map { "final class My\($0): \($0) { var note = 1 }" }.joined(separator: "\n") + """

                final class Nearest: CKLocationSortDescriptor { var name: String { key ?? "" } }
                final class Sorted: NSSortDescriptor { var name: String { key ?? "" } }
                """
        try await build("import CloudKit\nimport Foundation\n\n\(app)\n")
    }

    private func build(_ source: String) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try source.write(to: directory.appendingPathComponent("App.swift"), atomically: true, encoding: .utf8)
        // The modules lie beside the test runner, wherever this build put them.
        let products = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            .deletingLastPathComponent()
        // Those of the targets in C, and of the system's libraries.
        let sources = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let maps = try [products, sources]
            .flatMap { try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil) }
            .map { $0.appendingPathComponent("module.modulemap") }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
        let compiler = Process()
        let output = Pipe()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments =
            ["swiftc", "-O", "-wmo", "-parse-as-library", "-module-name", "App", "-c", "-o", "App.o"]
            + ["-I", products.appendingPathComponent("Modules").path]
            + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] } + ["App.swift"]
        compiler.currentDirectoryURL = directory
        compiler.standardInput = FileHandle.nullDevice
        compiler.standardOutput = output
        compiler.standardError = output
        try compiler.run()
        let text = try await offThePool {
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            compiler.waitUntilExit()
            return text
        }
        #expect(compiler.terminationStatus == 0, "the first swiftc of PATH says: \(text.prefix(2000))")
    }
}
