import Dispatch
import Glibc
import NephosSQLite
import NephosServer
import NephosService
import NephosStorage
import NephosWire
import Synchronization

/// The cloud that a command works on. A data directory answers the same requests as a server, without a socket.
///
/// Its methods block: they are for the main thread of a command.
final class Cloud {
    /// What went wrong, for standard error.
    struct Failure: Error {
        var message: String
    }

    private let address: CloudAddress
    private let container: String
    private let opened: Opened?

    private struct Opened {
        let stores: DataDirectory
        let service: NephosService
        let responder: Responder
    }

    /// - Throws: `UsageError` where no container is named, `Failure`, `StorageError`.
    init(_ address: CloudAddress) throws {
        self.address = address
        switch address.place {
        case .server:
            guard let container = address.container else {
                throw UsageError("which container? Name it with '--container ID', or in NEPHOS_CONTAINER.")
            }
            self.container = container
            opened = nil
        case .dataDirectory(let path):
            guard access(path, F_OK) == 0 else { throw Failure(message: "there is no directory \(path).") }
            let stores = try DataDirectory(path: path)
            container = try Self.container(address, in: stores, path)
            // How long deletions are remembered is the server's to say, and so is the rest of what it does by itself.
            let service = NephosService(
                stores: stores,
                configuration: ServiceConfiguration(deletionRetention: nil, worksInBackground: false))
            opened = Opened(stores: stores, service: service, responder: Responder(service))
        }
    }

    /// The container that is meant, which has to be there.
    private static func container(_ address: CloudAddress, in stores: DataDirectory, _ path: String) throws -> String {
        let known = try stores.existingStores().filter { $0.environment == address.environment }.map(\.container)
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        guard let container = address.container else {
            if known.count == 1 { return known[0] }
            throw UsageError(
                "which container? Name it with '--container ID'. Containers in \(path), \(address.environment): \(list)."
            )
        }
        guard known.contains(container) else {
            throw Failure(
                message: "there is no container \(container) in \(path), \(address.environment). There are: \(list).")
        }
        return container
    }

    /// Runs a command; the process's status says whether it could.
    static func run(on address: CloudAddress, _ command: (Cloud) throws -> Void) throws(UsageError) {
        do {
            let cloud = try Cloud(address)
            defer { cloud.close() }
            try command(cloud)
        } catch let error as UsageError {
            throw error
        } catch let failure as Failure {
            Console.fail(failure.message)
        } catch let error as StorageError {
            Console.fail(error.message)
        } catch {
            Console.fail("\(error)")
        }
    }

    /// Sends a message and decodes the answer.
    /// - Throws: `Failure` for what the service refuses.
    func request<Answer: WireMessage>(_ action: String, _ message: some WireMessage, as: Answer.Type) throws -> Answer {
        try answer(to: message, at: address.target(action, container: container))
    }

    /// The same for what an administrator does.
    func administer<Answer: WireMessage>(
        _ action: String, _ message: some WireMessage, as: Answer.Type
    ) throws -> Answer {
        try answer(to: message, at: address.administrationTarget(action, container: container))
    }

    private func answer<Answer: WireMessage>(to message: some WireMessage, at target: String) throws -> Answer {
        let (status, body) = try post(target, message.encoded())
        do {
            guard status == 200 else {
                let error = try ErrorDictionary(decoding: body)
                throw Failure(message: "\(error.reason) (\(error.serverErrorCode.rawValue))")
            }
            return try Answer(decoding: body)
        } catch let error as WireError {
            throw Failure(message: "the answer, of status \(status), cannot be read: \(error)")
        }
    }

    private func post(_ target: String, _ body: [UInt8]) throws -> (Int, [UInt8]) {
        guard let opened else {
            guard case .server(let server) = address.place else { return (0, []) }
            do {
                return try ServerConnection.post(body, to: target, at: server)
            } catch let failure as ServerConnection.Failure {
                throw Failure(message: failure.description)
            }
        }
        let request = HTTPRequest(method: .post, target: target, host: "localhost", body: body)
        let response = waiting { await opened.responder.respond(to: request) }
        return (response?.status ?? 0, response?.body ?? [])
    }

    /// Ends what was opened, in good order.
    func close() {
        guard let opened else { return }
        _ = waiting { await opened.service.close() }
        opened.stores.close()
    }

    private func waiting<T: Sendable>(for body: @escaping @Sendable () async -> T) -> T? {
        let outcome = Outcome<T>()
        let done = DispatchSemaphore(value: 0)
        Task {
            let value = await body()
            outcome.value.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        return outcome.value.withLock { $0 }
    }

    private final class Outcome<T: Sendable>: Sendable {
        let value = Mutex<T?>(nil)
    }
}
