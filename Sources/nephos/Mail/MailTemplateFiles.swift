import FoundationEssentials
import NephosService

/// The directory of texts that replace those of the server's mails.
enum MailTemplateFiles {
    /// - Parameter directory: the directory; nil for the standard texts.
    /// - Throws: `UsageError` for a directory that cannot be read, a file `.txt` of no kind of mail, and a wrong text.
    static func read(_ directory: String?) throws(UsageError) -> MailTemplates {
        var templates = MailTemplates()
        guard let directory else { return templates }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw UsageError("'--mail-templates': the directory \(directory) cannot be read.")
        }
        for name in names.sorted() where name.hasSuffix(".txt") {
            guard let template = MailTemplate(rawValue: String(name.dropLast(4))) else {
                let known = MailTemplate.allCases.map { "\($0.rawValue).txt" }.joined(separator: ", ")
                throw UsageError("'--mail-templates': there is no mail \(Console.printable(name)): \(known).")
            }
            let data = try MailOptions.file("\(directory)/\(name)", option: "--mail-templates")
            guard let text = String(validating: data, as: UTF8.self) else {
                throw UsageError("'--mail-templates': \(name) is not valid UTF-8.")
            }
            do throws(ServiceError) { try templates.replace(template, with: text) } catch {
                throw UsageError("'--mail-templates': \(error.reason).")
            }
        }
        return templates
    }
}
