import NephosService

/// The routes by which a developer has requests go wrong. Only `nephos dev` has them: they are no part of `Routes.table`.
enum FaultRoutes {
    static let table: [Route] = [
        .administration("/nephos/faults/list", .view, NephosService.listFaults),
        .administration("/nephos/faults/add", .change, NephosService.addFault),
        .administration("/nephos/faults/clear", .change, NephosService.clearFaults),
    ]
}
