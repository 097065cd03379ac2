public import CloudKit
import Foundation
import NephosSQLite
package import NephosService
package import NephosStorage
import NephosWire
import Synchronization

/// All of CloudKit inside this process: for tests, tools and apps that keep their data to themselves.
///
///     let cloud = try LocalCloud()
///     let mine = cloud.container(account: "mei").privateCloudDatabase
///     let theirs = cloud.container(account: "tom").privateCloudDatabase
///
/// Containers and accounts come into being when they are first used. A cloud lives as long as it or a container of it
/// is referred to.
public final class LocalCloud: Sendable {
    let service: NephosService
    private let stores: any StoreProvider
    private struct Registration {
        /// What `becomeDefault` was given by CloudKit.
        var id: UUID
        var environment: CloudKitEnvironment.Name
    }

    private let registration = Mutex<Registration?>(nil)

    /// A cloud in memory: empty, and gone with this object.
    /// - Throws: `LocalCloudError`.
    public convenience init() throws {
        self.init(stores: MemoryStores())
    }

    /// A cloud in a directory, which is made if there is none. What was saved is there the next time.
    ///
    /// A directory belongs to one process, and to one cloud, at a time.
    /// - Throws: `LocalCloudError`, if the directory is in use or cannot be read or written.
    public convenience init(directory: URL) throws {
        guard directory.isFileURL else { throw LocalCloudError("\(directory) is no directory of this machine.") }
        do {
            // A disk that fails is an error, and must not be the end of the app's process.
            let options = SQLiteOptions(
                mapped: 0, log: ServiceEnvironment.system.log)
            self.init(stores: try DataDirectory(path: directory.path, options: options))
        } catch let error as StorageError {
            throw LocalCloudError("The cloud in \(directory.path) cannot be opened: \(error.message)")
        }
    }

    /// A cloud over stores of the caller's, with the caller's clock and identifiers.
    package init(stores: any StoreProvider, environment: ServiceEnvironment = .system) {
        self.stores = stores
        var configuration = ServiceConfiguration()
        configuration.escrowsKeys = true
        service = NephosService(stores: stores, environment: environment, configuration: configuration)
    }

    /// A container, as an account sees it; `account` nil is signed out and can only read the public database.
    public func container(
        _ identifier: String = LocalCloud.defaultContainerIdentifier, account: String? = LocalCloud.defaultAccount,
        environment: CloudKitEnvironment.Name = .development
    ) -> CKContainer {
        CKContainer(
            identifier: identifier,
            service: LocalService(self, container: identifier, account: account, environment: environment))
    }

    /// The container that is meant where none is named.
    public static let defaultContainerIdentifier = "iCloud.local"
    /// The account that is meant where none is named.
    public static let defaultAccount = "me"

    /// Makes `CKContainer.default()` and `CKContainer(identifier:)` mean the containers of this cloud, as that account
    /// sees them, so that code runs on it that knows nothing of it. Holds for containers made afterwards, until
    /// `resignDefault` or `close`; calling it again changes the account.
    public func becomeDefault(
        account: String? = LocalCloud.defaultAccount, environment: CloudKitEnvironment.Name = .development
    ) {
        let id = ServiceDirectory.shared.add(account: account, provider(account, environment))
        replaceRegistration(by: Registration(id: id, environment: environment))
    }

    /// Has another account, or none, use this cloud where it is the default, as when a user signs in or out in the
    /// settings of a device: unlike with `becomeDefault`, the containers that there are go on as that account, what
    /// waits for notifications waits for that account's, and a `CKSyncEngine` tells its delegate. Posts
    /// `CKAccountChanged`.
    ///
    /// A cloud that is not the default becomes it.
    public func switchDefaultAccount(to account: String?) {
        guard let registration = registration.withLock({ $0 }) else { return becomeDefault(account: account) }
        ServiceDirectory.shared.switchAccount(
            of: registration.id, to: account, provider(account, registration.environment))
    }

    private func provider(
        _ account: String?, _ environment: CloudKitEnvironment.Name
    ) -> ServiceDirectory.Provider {
        { LocalService(self, container: $0, account: account, environment: environment) }
    }

    /// Undoes `becomeDefault`: what was meant before is meant again.
    public func resignDefault() {
        replaceRegistration(by: nil)
    }

    private func replaceRegistration(by new: Registration?) {
        let old = registration.withLock { registration in
            defer { registration = new }
            return registration
        }
        if let old { ServiceDirectory.shared.remove(old.id) }
    }

    /// Returns once the cloud has done what it does in the background: the deletions that a deletion in the default
    /// zone takes along, the removal of what deleted zones held.
    public func settle() async {
        await service.settle()
    }

    /// Takes zones of an account's private database away as its user does, without the app: with the reason `.purged`
    /// as a user who removes the app's data in the settings of iCloud, with `.encryptedDataReset` as a user who resets
    /// what is encrypted end to end. Devices hear of it through their next fetch. Without `zoneIDs` it takes every
    /// custom zone.
    ///
    /// - Throws: `CKError`, `.zoneNotFound` for a zone that is not there; then nothing is removed.
    public func removeZones(
        _ zoneIDs: [CKRecordZone.ID]? = nil, ofAccount account: String = LocalCloud.defaultAccount,
        reason: CKDatabase.DatabaseChange.Deletion.Reason,
        inContainer identifier: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        let context = RequestContext(
            container: identifier, environment: environment == .production ? .production : .development,
            scope: .private, account: account,
            requestID: UUID().uuidString)
        do throws(ServiceError) {
            _ = try await service.removeZones(
                named: zoneIDs?.map(\.zoneName), reason: .init(reason), context)
        } catch {
            throw CKError(CKError.Code(rawValue: error.clientCode.rawValue) ?? .internalError)
        }
    }

    /// Deletes an account: its private database with what it shares, its part in the shares of others, its keys,
    /// subscriptions and push tokens. Participants of its shares see the zones go, as if it had deleted them; the
    /// owners of shares that it took part in see a participant less. What it saved in the public database stays, with
    /// its former user record as the creator.
    ///
    /// No account sees anything of it once this returns; `settle` returns when all of it is erased. A container that
    /// goes on under the account's name is another account's then, with a user record of its own.
    ///
    /// - Throws: `CKError`, `.unknownItem` where there is no such account.
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

    /// Has the cloud forget which records and zones were deleted before a time, as the service does with what is older
    /// than half a year. Change tokens that do not know of them yet have expired then.
    public func forgetDeletions(before date: Date = .distantFuture) async throws {
        let time = date.timeIntervalSince1970 * 1000
        do throws(ServiceError) {
            try await service.forgetDeletions(before: time < 9e18 ? Int64(time) : .max)
        } catch {
            throw CKError(.internalError)
        }
    }

    /// Finishes what was asked for and closes the cloud; what is asked for later fails with `serviceUnavailable`.
    public func close() async {
        resignDefault()
        await service.close()
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

/// Why a cloud could not be opened.
public struct LocalCloudError: Error, Hashable, Sendable, LocalizedError, CustomStringConvertible {
    /// What happened, and to which directory.
    public let description: String
    public var errorDescription: String? { description }

    package init(_ description: String) { self.description = description }
}
