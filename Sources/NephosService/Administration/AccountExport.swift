import NephosStorage
import NephosWire

/// The content of an account's private databases, as the files of an archive, a piece at a time: so memory is bounded,
/// and each read of a store is short.
///
/// Each store has a directory, `CONTAINER/ENVIRONMENT`, with the files of `StoreExport`. The files are no snapshot: a
/// record that changes meanwhile may have several lines, of which the last is its latest.
package actor AccountExport {
    /// The time at which the export began, in milliseconds since 1970.
    package nonisolated let begun: Int64

    private let service: NephosService
    private let account: String
    private let isLive: @Sendable () async -> Bool
    private let slot: ExportSlots.Slot
    private var stores: ArraySlice<StoreID>
    private var current: StoreExport?

    fileprivate init(
        _ service: NephosService, _ account: String, _ stores: [StoreID], _ slot: ExportSlots.Slot,
        isLive: @escaping @Sendable () async -> Bool
    ) {
        (self.service, self.account, self.stores, self.slot) = (service, account, stores[...], slot)
        self.isLive = isLive
        begun = service.environment.now()
    }

    /// Returns the next piece; nil after the last one. The pieces of a file follow each other, in order.
    /// - Throws: `notAuthenticated` once the session is over; `limitExceeded` after `Limits.exportDuration`.
    package func next() async throws(ServiceError) -> ExportPiece? {
        guard await isLive() else { throw .sessionIsOver }
        guard service.environment.now() - begun < Limits.exportDuration else { throw .exportTookTooLong }
        do {
            while true {
                if var export = current {
                    let piece = try await export.next()
                    current = piece == nil ? nil : export
                    if let piece { return piece }
                } else if let store = stores.popFirst() {
                    current = StoreExport(service, store, account)
                } else {
                    return nil
                }
            }
        } catch {
            throw service.translate(error, requestID: "export")
        }
    }
}

/// A piece of a file of an export.
package struct ExportPiece: Sendable {
    package var path: String
    /// The size of the whole file in bytes.
    package var size: Int64
    /// The position of the piece in the file.
    package var offset: Int64
    /// The bytes of the piece; none only for an empty file.
    package var bytes: [UInt8]

    package init(path: String, size: Int64, offset: Int64 = 0, bytes: [UInt8]) {
        (self.path, self.size, self.offset, self.bytes) = (path, size, offset, bytes)
    }
}

extension ServiceError {
    fileprivate static let exportTookTooLong = ServiceError.limitExceeded(
        "the export took longer than \(Limits.exportDuration / 3_600_000) hours")
}

extension NephosService {
    /// Begins to export the content of an account's private databases, from all containers and environments.
    /// - Parameters:
    ///   - account: the account's name, which for an installation is its ID.
    ///   - isLive: whether the session that asked for it lives. Asked before each piece.
    /// - Throws: `requestRateLimited` while the account has an export under way.
    package func export(
        of account: String, isLive: @escaping @Sendable () async -> Bool
    ) async throws(ServiceError) -> AccountExport {
        let slot = try exports.begin(account)
        do {
            let all = try await stores.known().filter { ContainerEnvironment(rawValue: $0.environment) != nil }
            let sorted = all.sorted { ($0.container, $0.environment) < ($1.container, $1.environment) }
            return AccountExport(self, account, sorted, slot, isLive: isLive)
        } catch {
            throw translate(error, requestID: "export")
        }
    }
}
