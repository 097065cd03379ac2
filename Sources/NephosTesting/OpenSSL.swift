package import Foundation

/// The program `openssl`.
package enum OpenSSL {
    package struct Failure: Error {
        package var description: String
    }

    /// Runs it to its end, and returns its output.
    /// - Parameters:
    ///   - input: at most the 64 KiB that a pipe takes.
    ///   - directory: where relative names of files are; nil for this process's.
    @discardableResult
    package static func run(_ arguments: [String], input: Data = Data(), in directory: URL? = nil) throws -> Data {
        let process = Process()
        let (source, output, errors) = (Pipe(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        if let directory { process.currentDirectoryURL = directory }
        process.standardInput = source
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        source.fileHandleForWriting.write(input)
        try source.fileHandleForWriting.close()
        let result = output.fileHandleForReading.readDataToEndOfFile()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: text) }
        return result
    }
}
