package import NephosWire

extension NephosService {
    /// All endpoints with their implementations.
    package static let endpoints: [any EndpointAnswering] = [
        EndpointAnswer(
            .modifyRecords, bodyLimit: Limits.requestBodySize, decode: decodedModification, modifyRecords),
        EndpointAnswer(.lookupRecords, lookupRecords),
        EndpointAnswer(
            endpoint: .queryRecords, decode: decodedQuery, call: queryRecords, converted: { DecodedQuery($0) }),
        EndpointAnswer(.recordChanges, recordChanges),
        EndpointAnswer(.resolveShares, resolveShares),
        EndpointAnswer(.acceptShares, acceptShares),
        EndpointAnswer(.requestShareAccess, requestShareAccess),
        EndpointAnswer(.lookUpParticipants, lookUpParticipants),
        EndpointAnswer(.listZones, listZones),
        EndpointAnswer(.lookupZones, lookupZones),
        EndpointAnswer(.modifyZones, modifyZones),
        EndpointAnswer(.recordZoneChanges, recordZoneChanges),
        EndpointAnswer(.databaseChanges, databaseChanges),
        EndpointAnswer(.zoneChanges, databaseChanges),
        EndpointAnswer(.listSubscriptions, listSubscriptions),
        EndpointAnswer(.lookupSubscriptions, lookupSubscriptions),
        EndpointAnswer(.modifySubscriptions, modifySubscriptions),
        EndpointAnswer(.createToken, createToken),
        EndpointAnswer(.registerToken, registerToken),
        EndpointAnswer(.assetUploads, assetUploads),
        EndpointAnswer(.rereferenceAssets, rereferenceAssets),
        EndpointAnswer(.accountKeys, accountKeys),
        EndpointAnswer(.enroll, enroll),
        EndpointAnswer(.resetKeys, resetKeys),
        EndpointAnswer(.lookupKeys, lookupKeys),
        EndpointAnswer(.putGroupKey, putGroupKey),
        EndpointAnswer(.currentUser, currentUser),
        EndpointAnswer(.caller, currentUser),
        EndpointAnswer(.webAuthToken, webAuthToken),
        EndpointAnswer(.discoverUsers, discoverUsers),
        EndpointAnswer(.lookUpUsersByEmail, discoverUsers),
        EndpointAnswer(.lookUpUsersByID, discoverUsers),
        EndpointAnswer(.lookUpContacts, discoverUsers),
    ]

    private static let endpointsByPath = Dictionary(
        uniqueKeysWithValues: endpoints.map { ($0.path, $0) })

    /// Performs a request from the same process.
    package func answer<Request, Response>(
        _ endpoint: Endpoint<Request, Response>, _ request: Request, _ context: RequestContext
    ) async throws(ServiceError) -> Response {
        guard let answer = Self.endpointsByPath[endpoint.path] as? any EndpointAnswering<Request, Response> else {
            throw .invalid("there is no endpoint \(endpoint.path)")
        }
        return try await Self.answer(answer, request, self, context)
    }

    private static func answer<Answer: EndpointAnswering>(
        _ answer: Answer, _ request: Answer.Request, _ service: NephosService, _ context: RequestContext
    ) async throws(ServiceError) -> Answer.Response {
        try answer.admit(context)
        return try await service.answer(answer, answer.converted(request), context)
    }
}
