import Foundation

/// An error whose default description has the wording of Apple's Foundation. Apps' tests compare that wording, and the
/// wording of Foundation on Linux differs.
final class DescribedError: NSError, @unchecked Sendable {
    // Unchecked, like NSError itself: all properties are constants.

    override var localizedDescription: String {
        if let description = userInfo[NSLocalizedDescriptionKey] as? String { return description }
        return "The operation couldn’t be completed. " + (localizedFailureReason ?? "(\(domain) error \(code).)")
    }

    // NSError's own hash recurses endlessly on Linux: no set could hold an error, and no archiver could encode it.
    override var hash: Int {
        var hasher = Hasher()
        hasher.combine(domain)
        hasher.combine(code)
        return hasher.finalize()
    }
}
