import CloudKit
import NephosWire

/// A stand-in for the service that knows only some requests: the others fail.
protocol PartialService: CloudService {}

extension PartialService {
    private var unknown: ServiceFailure { .transport(.internalError, "The stand-in does not know this request.") }

    func recordZoneChanges(_: RecordZoneChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> RecordZoneChangesResponse
    { throw unknown }
    func databaseChanges(_: DatabaseChangesRequest, _: ServiceCall) async throws(ServiceFailure)
        -> DatabaseChangesResponse
    { throw unknown }
}
