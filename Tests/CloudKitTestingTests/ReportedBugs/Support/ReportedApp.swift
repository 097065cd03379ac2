import CloudKit
import CloudKitTesting
import Foundation
import Synchronization

/// An app with a list of items, of which each subclass has a bug that people reported of an app or a library, unless it is
/// mended.
class ReportedApp: SimulatedApp, @unchecked Sendable {
    // Unchecked, as a class with subclasses: the disk has a lock, the rest is constant.

    let isMended: Bool
    let container: CKContainer
    private let file: URL
    /// What the app shows, and what is on the disk: what an engine fetched goes there with the engine's state. A crash between
    /// the two would leave items of a fetch that begins anew, and names no deletions.
    private let state: Mutex<(shown: Disk, saved: Disk)>

    /// The file on the device's disk.
    class var fileName: String { "items.json" }

    required init(_ device: CloudDevice, isMended: Bool) async throws {
        self.isMended = isMended
        container = device.container
        file = try device.diskDirectory.appendingPathComponent(Self.fileName)
        let data = FileManager.default.contents(atPath: file.path)
        let disk = try data.map { try JSONDecoder().decode(Disk.self, from: $0) } ?? Disk()
        state = Mutex((disk, disk))
    }

    var disk: Disk { state.withLock { $0.shown } }
    var database: CKDatabase { container.privateCloudDatabase }
    var contents: [String: String] { disk.contents }

    // Not atomically, which waits for the disk: a simulation ends an app only where it awaits something.

    /// Changes what is kept, in memory and on the disk.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout Disk) throws -> sending Result) throws -> sending Result {
        try state.withLock { state in
            _ = try body(&state.saved)
            let result = try body(&state.shown)
            try JSONEncoder().encode(state.saved).write(to: file)
            return result
        }
    }

    /// Changes what is shown, until `save()` has it on the disk too.
    func take(_ body: (inout Disk) -> Void) { state.withLock { body(&$0.shown) } }

    func save() throws {
        try state.withLock { state in
            state.saved = state.shown
            try JSONEncoder().encode(state.saved).write(to: file)
        }
    }

    /// Adds, changes or deletes one of few items, so that edits meet.
    func edit(using random: inout SimulationRandom) async throws -> [String: String?] {
        let (names, text) = (disk.contents.keys.sorted(), random.text())
        let name = names.randomElement(using: &random)
        let changes: [String: String?]
        switch (Int.random(in: 0..<9, using: &random), name) {
        case (0..<3, let name?): changes = [name: nil]
        case (3..<6, let name?): changes = [name: text]
        case (_, let name?) where names.count > 5: changes = [name: text]
        default: changes = [text: text]
        }
        try write(changes)
        return changes
    }

    func write(_ changes: [String: String?]) throws {
        try update { disk in
            for (name, text) in changes { disk.write(text, to: name) }
        }
        didEdit(changes)
    }

    /// Is told of a finished edit.
    func didEdit(_ changes: [String: String?]) {}

    func sync() async throws { fatalError("a subclass syncs") }

    func didReceive(_ notification: CKNotification) async {}
    func permits(_ value: String?, for item: String, edits: [String?]) async -> Bool { false }
}
