/// An async mutex for the commands on a container's schema. It is needed because an import and a deployment read both
/// environments.
actor SchemaMutex {
    private var busy: Set<String> = []
    private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

    func begin(_ container: String) async {
        if busy.insert(container).inserted { return }
        await withCheckedContinuation { waiting[container, default: []].append($0) }
    }

    /// Releases the mutex, and resumes the task that has waited longest.
    func end(_ container: String) {
        guard let first = waiting[container]?.first else {
            busy.remove(container)
            return
        }
        waiting[container]?.removeFirst()
        if waiting[container]?.isEmpty == true { waiting[container] = nil }
        first.resume()
    }
}
