package import NephosStorage
package import NephosWire

/// What CloudKit does. Every way in (HTTP, the caller's own process) ends at these entry points.
package final class NephosService: Sendable {
    package init(stores: any StoreProvider) {}

    package func modifyRecords(_ request: ModifyRecordsRequest, _ context: RequestContext) async throws(ServiceError) -> RecordsResponse {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    package func lookupRecords(_ request: LookupRecordsRequest, _ context: RequestContext) async throws(ServiceError) -> RecordsResponse {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    package func listZones(_ context: RequestContext) async throws(ServiceError) -> ZonesResponse {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    package func lookupZones(_ request: LookupZonesRequest, _ context: RequestContext) async throws(ServiceError) -> ZonesResponse {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    package func modifyZones(_ request: ModifyZonesRequest, _ context: RequestContext) async throws(ServiceError) -> ZonesResponse {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    package func currentUser(_ context: RequestContext) async throws(ServiceError) -> UserDictionary {
        throw ServiceError(.internalError, clientCode: 1, "not built yet")
    }
    /// Finishes what was accepted, then closes every store.
    package func close() async {}
}
