public import CloudKit
import Foundation
import NephosSQLite
package import NephosService
package import NephosStorage
import NephosWire
package import Synchronization

/// A complete CloudKit service inside this process: for tests, tools and apps that keep their data local.
///
///     let cloud = try LocalCloud()
///     let mine = cloud.container(account: "mei").privateCloudDatabase
///     let theirs = cloud.container(account: "tom").privateCloudDatabase
///
/// Containers and accounts are created on first use. A cloud lives as long as a reference to it or to one of its
/// containers.
public final class LocalCloud: Sendable {
    private let running: Mutex<NephosService>
    private let makeService: @Sendable () -> NephosService
    /// The schema with which each container begins; nil for none.
    let givenSchema: GivenSchema?
    private let stores: any StoreProvider
    private struct Registration {
        /// The ID of the registration that CloudKit returned to `becomeDefault`.
        var id: UUID
        var environment: CloudKitEnvironment.Name
        let directory: ServiceDirectory
    }

    private let registration = Mutex<Registration?>(nil)

    /// What CloudKitTesting knows about the cloud; nil as long as no test uses it.
    package let testing = AtomicLazyReference<AnyLocalCloudState>()

    /// Creates an empty cloud in memory. Its data exists as long as the cloud.
    /// - Throws: `LocalCloudError`.
    public convenience init() throws {
        self.init(stores: MemoryStores())
    }

    /// Creates a cloud in a directory, which is created if it is missing. The data is durable.
    ///
    /// Only one cloud of one process can use a directory at a time.
    /// - Throws: `LocalCloudError`, if the directory is in use or cannot be read or written.
    public convenience init(directory: URL) throws {
        guard directory.isFileURL else { throw LocalCloudError("\(directory) is no directory of this machine.") }
        do {
            // A failing disk must cause an error, not terminate the app's process.
            let options = SQLiteOptions(
                mapped: 0, log: ServiceEnvironment.system.log)
            self.init(stores: try DataDirectory(path: directory.path, options: options))
        } catch let error as StorageError {
            throw LocalCloudError("The cloud in \(directory.path) cannot be opened: \(error.message)")
        }
    }

    /// Creates a cloud with the caller's stores, clock and identifiers.
    package init(
        stores: any StoreProvider, environment: ServiceEnvironment = .system,
        configuration: ServiceConfiguration = ServiceConfiguration(), schema: GivenSchema? = nil
    ) {
        self.stores = stores
        givenSchema = schema
        var configuration = configuration
        configuration.extendsSchema = configuration.extendsSchema && schema == nil
        configuration.escrowsKeys = true
        makeService = { [configuration] in
            NephosService(stores: stores, environment: environment, configuration: configuration)
        }
        running = Mutex(makeService())
    }

    /// The service, until it is restarted.
    package var service: NephosService { running.withLock { $0 } }

    /// Creates an empty cloud in memory with the caller's clock and identifiers, whose service can be restarted.
    /// - Parameter schema: the schema with which each container begins, and to which saves add nothing; nil for none.
    package convenience init(
        environment: ServiceEnvironment, configuration: ServiceConfiguration, schema: GivenSchema?
    ) {
        self.init(stores: KeptMemoryStores(), environment: environment, configuration: configuration, schema: schema)
    }

    /// Returns a container as an account accesses it. If `account` is nil, the container is signed out and can only
    /// read the public database.
    public func container(
        _ identifier: String = LocalCloud.defaultContainerIdentifier, account: String? = LocalCloud.defaultAccount,
        environment: CloudKitEnvironment.Name = .development
    ) -> CKContainer {
        CKContainer(
            identifier: identifier,
            service: LocalService(self, container: identifier, account: account, environment: environment))
    }

    /// The container identifier that this class's methods use by default.
    public static let defaultContainerIdentifier = "iCloud.local"
    /// The name of the account that this class's methods use by default.
    public static let defaultAccount = "me"

    /// Makes `CKContainer.default()` and `CKContainer(identifier:)` return containers of this cloud for an account, so
    /// that code which does not know the cloud uses it. Applies to containers created afterwards, until `resignDefault`
    /// or `close`. Another call changes the account.
    public func becomeDefault(
        account: String? = LocalCloud.defaultAccount, environment: CloudKitEnvironment.Name = .development
    ) {
        let directory = ServiceDirectory.current
        let id = directory.add(account: account, provider(account, environment))
        replaceRegistration(by: Registration(id: id, environment: environment, directory: directory))
    }

    /// Signs in to another account, or signs out if `account` is nil, as a user does in a device's settings. In
    /// contrast to `becomeDefault`, existing containers continue with the new account, notification sequences return
    /// the new account's notifications, and a `CKSyncEngine` informs its delegate. Posts `CKAccountChanged`.
    ///
    /// If this cloud is not the default, it becomes the default.
    public func switchDefaultAccount(to account: String?) {
        guard let registration = registration.withLock({ $0 }) else { return becomeDefault(account: account) }
        registration.directory.switchAccount(
            of: registration.id, to: account, provider(account, registration.environment))
    }

    private func provider(
        _ account: String?, _ environment: CloudKitEnvironment.Name
    ) -> ServiceDirectory.Provider {
        { LocalService(self, container: $0, account: account, environment: environment) }
    }

    /// Undoes `becomeDefault`, and restores the previous default.
    public func resignDefault() {
        replaceRegistration(by: nil)
    }

    private func replaceRegistration(by new: Registration?) {
        let old = registration.withLock { registration in
            defer { registration = new }
            return registration
        }
        if let old { old.directory.remove(old.id) }
    }

    /// Returns once the cloud has finished its background jobs: the cascading deletions after a deletion in the default
    /// zone, and the removal of deleted zones' content.
    public func settle() async {
        await service.settle()
    }

    /// Deletes zones of an account's private database, as the account's user can do outside the app. The reason
    /// `.purged` stands for a user who removes the app's data in iCloud's settings, `.encryptedDataReset` for a user
    /// who resets end-to-end encrypted data. Devices receive the deletion with their next fetch. If `zoneIDs` is nil,
    /// deletes every custom zone.
    ///
    /// - Throws: `CKError`, `.zoneNotFound` for a missing zone. If it throws, no zone is deleted.
    public func removeZones(
        _ zoneIDs: [CKRecordZone.ID]? = nil, ofAccount account: String = LocalCloud.defaultAccount,
        reason: CKDatabase.DatabaseChange.Deletion.Reason,
        inContainer identifier: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        _ = try await removeZones(
            named: zoneIDs?.map(\.zoneName), ofAccount: account, reason: reason, inContainer: identifier,
            environment: environment)
    }

    /// Deletes zones as `removeZones` does.
    /// - Returns: the names of the deleted zones.
    package func removeZones(
        named names: [String]?, ofAccount account: String, reason: CKDatabase.DatabaseChange.Deletion.Reason,
        inContainer identifier: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws -> [String] {
        let context = RequestContext(
            container: identifier, environment: environment == .production ? .production : .development,
            scope: .private, account: account,
            requestID: UUID().uuidString)
        do throws(ServiceError) {
            return try await service.removeZones(named: names, reason: .init(reason), context)
        } catch {
            throw CKError(CKError.Code(rawValue: error.clientCode.rawValue) ?? .internalError)
        }
    }

    /// Deletes an account: its private database with its shares, its participation in other accounts' shares, its keys,
    /// subscriptions and push tokens. For participants of the account's shares, the shared zones disappear as if the
    /// account had deleted them. Owners of shares that the account joined see one participant fewer. The account's
    /// records in the public database remain, with the account's former user record as their creator.
    ///
    /// No account sees any of this data once the method returns; `settle` returns once all of it is erased. A container
    /// that continues under the account's name belongs to a new account, with its own user record.
    ///
    /// - Throws: `CKError`, `.unknownItem` if the account does not exist.
    public func deleteAccount(
        _ account: String, inContainer identifier: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        let context = RequestContext(
            container: identifier, environment: environment == .production ? .production : .development,
            scope: .public, account: nil, requestID: UUID().uuidString)
        do throws(ServiceError) {
            _ = try await service.deleteAccount(DeleteAccountRequest(account: account), context)
        } catch {
            throw CKError(CKError.Code(rawValue: error.clientCode.rawValue) ?? .internalError)
        }
    }

    /// Purges the tombstones of records and zones that were deleted before the given time. The service purges
    /// tombstones after half a year. Change tokens from before a purged deletion expire.
    public func forgetDeletions(before date: Date = .distantFuture) async throws {
        let time = date.timeIntervalSince1970 * 1000
        do throws(ServiceError) {
            try await service.forgetDeletions(before: time < 9e18 ? Int64(time) : .max)
        } catch {
            throw CKError(.internalError)
        }
    }

    /// Completes the accepted requests and closes the cloud; later requests fail with `serviceUnavailable`.
    public func close() async {
        resignDefault()
        await service.close()
        await (stores as? KeptMemoryStores)?.discard()
    }

    /// Ends the service and starts it again, as a server restarts: what it stored stays, what it only remembers is gone.
    /// Requests meanwhile fail with `serviceUnavailable`. The faults stay. Only for the stores of a test's cloud.
    package func restart() async {
        guard stores is KeptMemoryStores else { fatalError("LocalCloud.restart: the stores of this cloud end with it") }
        let old = service
        await old.close()
        let new = makeService()
        new.takeOverFaults(of: old)
        running.withLock { $0 = new }
        await new.resume()
    }
}

extension ZoneDeletionReason {
    fileprivate init(_ reason: CKDatabase.DatabaseChange.Deletion.Reason) {
        self =
            switch reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
    }
}

/// The error of a cloud that cannot be opened, or that refuses a request.
public struct LocalCloudError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
    /// The failure's description, with the directory if the cloud has one.
    public let description: String
    public var errorDescription: String? { description }

    package init(_ description: String) { self.description = description }
}
