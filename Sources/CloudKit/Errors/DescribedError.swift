import Foundation

/// An error that describes itself in the words of Apple's Foundation where nothing else describes it: apps' tests
/// compare them, and Foundation's own on Linux are others.
final class DescribedError: NSError, @unchecked Sendable {
    // Unchecked, as NSError is: everything in it is a constant.

    override var localizedDescription: String {
        if let description = userInfo[NSLocalizedDescriptionKey] as? String { return description }
        return "The operation couldn’t be completed. " + (localizedFailureReason ?? "(\(domain) error \(code).)")
    }

    // NSError's own calls itself without end on Linux: no set could hold an error, and no archiver take it.
    override var hash: Int {
        var hasher = Hasher()
        hasher.combine(domain)
        hasher.combine(code)
        return hasher.finalize()
    }
}
