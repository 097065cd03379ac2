import Foundation
import Glibc
import NephosObjectStorage
import Testing

/// moto's object storage with authentication on (`object_storage.py`), in a process of its own that ends with the last
/// reference.
final class ObjectStorageStandIn: @unchecked Sendable {
    // `@unchecked`: all is set once, in `init`.
    private let process = Process()
    private let input = Pipe()
    private let setup: Setup

    private struct Setup: Decodable {
        var url: String
        var key: String
        var secret: String
    }

    struct StartError: Error {}

    private static let script = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("object_storage.py").path
    /// Beside what is built, so that it is installed once.
    private static let environment = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build/test-tools/moto").path

    static let missing: Comment =
        "moto cannot be installed from PyPI: its environment is made in .build/test-tools/moto with python3-venv"

    /// Whether moto is there; installs it on first use.
    static let isInstalled: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [script, environment, "--install"]
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    init() throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Self.environment + "/bin/python")
        process.arguments = [Self.script]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw StartError() }
            line += data
        }
        setup = try JSONDecoder().decode(Setup.self, from: line)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    }

    func options(secret: String? = nil) -> ObjectStorageOptions {
        var options = ObjectStorageOptions(
            endpoint: setup.url, bucket: "assets", prefix: "test/nephos", region: "eu-central-1", accessKey: setup.key,
            secretKey: secret ?? setup.secret)
        options.limits.firstWait = .milliseconds(10)
        return options
    }

    /// What happens to the next requests.
    func setFaults(_ faults: [String?]) throws { _ = try control(faults) }

    /// The methods of the requests since the last call of either.
    func requests() throws -> [String] { try control([]) }

    private func control(_ faults: [String?]) throws -> [String] {
        let curl = Process()
        let output = Pipe()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        curl.arguments = [
            "-s", "\(setup.url)/faults", "--data", String(decoding: try JSONEncoder().encode(faults), as: UTF8.self),
        ]
        curl.standardOutput = output
        try curl.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        curl.waitUntilExit()
        return try JSONDecoder().decode([String].self, from: data)
    }
}
