import NephosWire
import Testing

extension AssetUploadResponse {
    /// The token in the first file's address, with which its upload begins.
    func firstToken() throws -> String {
        guard case .token(let token) = try #require(tokens.first) else {
            throw UploadRefusal(error: try #require(failures.first))
        }
        return try #require(token.url.split(separator: "/").last.map(String.init))
    }

    /// The errors of the files that were refused.
    var failures: [ErrorDictionary] {
        tokens.compactMap { if case .failure(let error) = $0 { error } else { nil } }
    }
}

/// The refusal of a file in the answer of `assets/upload`.
struct UploadRefusal: Error {
    var error: ErrorDictionary
}
