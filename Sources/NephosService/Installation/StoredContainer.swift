import NephosStorage

/// A container, by its identifier. Requests for other containers are answered as those without a valid API token.
struct StoredContainer: StoredEntry {
    static let kind = InstallationEntry.Kind.container
    var createdAt: Int64
}
