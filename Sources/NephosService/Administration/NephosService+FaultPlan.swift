package import NephosWire

extension NephosService {
    /// Has requests to a container go wrong. Only `nephos dev` has a route to it.
    package func addFault(
        _ request: AddFaultRequest, _ context: RequestContext
    ) async throws(ServiceError) -> FaultsResponse {
        try context.checkContainer()
        var rule = try FaultRule(text: request.fault)
        rule.address.container = context.container
        makeFaults().add(rule)
        return faults(of: context)
    }

    /// Lists the faults of a container.
    package func listFaults(
        _ request: FaultsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> FaultsResponse {
        faults(of: context)
    }

    /// Removes a fault of a container, or all of them, and returns those that it then has.
    package func clearFaults(
        _ request: FaultsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> FaultsResponse {
        let removed = entries(of: context).filter { request.id == nil || $0.id == request.id }
        if let id = request.id, removed.isEmpty { throw .invalid("the container has no fault \(id)") }
        if let id = request.id { faults?.remove(id) } else { faults?.removeAll(ofContainer: context.container) }
        return faults(of: context)
    }

    private func entries(of context: RequestContext) -> [FaultPlan.Entry] {
        faults?.entries.filter { $0.rule.address.container == context.container } ?? []
    }

    private func faults(of context: RequestContext) -> FaultsResponse {
        FaultsResponse(
            faults: entries(of: context).map {
                .init(id: $0.id, fault: $0.rule.description, matched: $0.matches, happened: $0.happened)
            })
    }
}
