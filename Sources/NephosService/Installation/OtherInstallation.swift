package import NephosStorage
import NephosThreads

/// Installations are told apart by the secrets of their stores, which every copy of a store keeps. A container's accounts are
/// known by IDs of its installation. In a place with another installation no caller can sign in as them.
package enum OtherInstallation {
    /// A place that stores are copied from or to.
    package struct Place: Sendable {
        let stores: [StoreID]
        let open: @Sendable (StoreID) throws -> any StorageEngine

        /// - Parameter open: opens one of the stores, which is closed again.
        package init(_ stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine) {
            (self.stores, self.open) = (stores, open)
        }

        /// Nil without an installation, and for a damaged one, which is reported elsewhere.
        fileprivate func secret() async throws -> [UInt8]? {
            guard stores.contains(.installation) else { return nil }
            do {
                let engine = try await BlockingPool.disk.run { try open(.installation) }
                let result: Result<[UInt8]?, any Error>
                do { result = .success(try await engine.read { try $0.secret() }) } catch { result = .failure(error) }
                await engine.close()
                return try result.get()
            } catch let error as StorageError where error.code == .damaged {
                return nil
            }
        }
    }

    /// Refuses to copy stores to a place that has another installation than their own. Stores without one, as of the backup
    /// of one container, may be any installation's.
    /// - Throws: `StorageError` `.constraint`.
    package static func refuse(from source: Place, to target: Place) async throws {
        guard let present = try await target.secret(), let own = try await source.secret(), present != own else {
            return
        }
        throw StorageError(
            .constraint,
            """
            the place has another installation's accounts, and none of the accounts whose records are to be copied: people \
            could not sign in to them. Nothing was changed. Copy to a place of its own
            """)
    }
}
