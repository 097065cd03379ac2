import Glibc
import NephosService
import NephosWire

/// The action `sync` of `nephos schema`, which keeps a schema file beside an app's code.
extension SchemaCommand {
    /// Merges the file and the schema of development. Neither loses anything; a file that has everything keeps its bytes,
    /// comments included.
    func sync(_ file: String) throws {
        guard file != "-" else { throw SchemaFailure("sync changes its file: it cannot be standard input.") }
        guard let place = try place() else { return }
        defer { place.close() }
        let stored = try place.exportSchema()
        if access(file, F_OK) != 0 {
            if isCheck { throw SchemaFailure("\(file) is missing.") }
            // A container that does not exist has a schema, too, but no preflight: its name may be misspelt.
            _ = try place.preflight(nil)
            try Self.write(stored, to: file)
            return Console.print("\(file) made\n")
        }
        let text = try Self.read(file)
        var merged: MergedSchema
        switch SchemaCommands.merge(text, stored) {
        case .success(let schema): merged = schema
        case .failure(let refusal):
            for finding in SchemaReport(refusal.findings, changes: []).findings { Console.warn(line(finding)) }
            throw SchemaFailure("the sync was refused; nothing is changed.")
        }
        if !merged.changesOfDevelopment.isEmpty && !isCheck {
            // Another command may change the schema meanwhile.
            let report = try place.mergeSchema(text)
            for finding in report.findings { Console.warn(line(finding)) }
            guard report.isAllowed else { throw SchemaFailure("the sync was refused; nothing is changed.") }
            merged.changesOfDevelopment = report.changes
            if case .success(let after) = SchemaCommands.merge(text, try place.exportSchema()) {
                (merged.text, merged.changesOfFile) = (after.text, after.changesOfFile)
            }
        }
        if !merged.changesOfFile.isEmpty && !isCheck { try Self.write(merged.text, to: file) }
        for change in merged.changesOfDevelopment { Console.print("development: \(change)\n") }
        for change in merged.changesOfFile { Console.print("\(file): \(change)\n") }
        let count = merged.changesOfDevelopment.count + merged.changesOfFile.count
        if count == 0 { return Console.print("nothing to change\n") }
        if isCheck { throw SchemaFailure("\(file) and development differ.") }
    }
}
