import FoundationEssentials
import NephosHTTP
import NephosService
import NephosStorage
import NephosThreads

extension MailOutlet {
    /// Sends mails through a mail server.
    static func smtp(_ server: SMTPServer) -> MailOutlet {
        MailOutlet { message async throws(MailFailure) in
            do {
                try await BlockingPool.network.run {
                    try server.send(message.bytes, from: message.from.address.text, to: message.to.text)
                }
            } catch let failure as SMTPFailure {
                throw MailFailure(failure.reason, isPermanent: failure.isPermanent)
            } catch {
                throw MailFailure("\(error)")
            }
        }
    }

    /// Writes each mail into a file of a directory, for another program to send. A file whose name ends with `.eml` is
    /// whole.
    static func directory(_ path: String) -> MailOutlet {
        MailOutlet { message async throws(MailFailure) in
            do {
                try await BlockingPool.disk.run {
                    // Sorted by time.
                    let name = "\(path)/\(message.date)-\(message.id.prefix(16))"
                    guard
                        FileManager.default.createFile(
                            atPath: "\(name).part", contents: Data(message.bytes),
                            attributes: [.posixPermissions: 0o600])
                    else { throw MailFailure("the directory of mails cannot be written") }
                    try FileManager.default.moveItem(atPath: "\(name).part", toPath: "\(name).eml")
                }
            } catch let failure as MailFailure {
                throw failure
            } catch {
                throw MailFailure("the directory of mails cannot be written")
            }
        }
    }
}
