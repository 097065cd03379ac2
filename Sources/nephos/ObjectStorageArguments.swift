import NephosHTTP
import NephosObjectStorage
import NephosPostgres
import NephosStorage
import NephosThreads

/// The options for an object storage that stores the asset files.
struct ObjectStorageArguments {
    static let options = [
        CommandOption(
            "--asset-storage", "URL",
            """
            Where the files are: s3://BUCKET or s3://BUCKET/PREFIX for object storage
            that speaks the S3 protocol. Default: beside the database
            """),
        CommandOption(
            "--s3-endpoint", "URL",
            """
            The object storage's address. Default: AWS_ENDPOINT_URL, or Amazon's in
            the region
            """),
        CommandOption("--s3-region", "REGION", "Its region. Default: AWS_REGION, or us-east-1"),
    ]

    /// The note of the help on credentials.
    static let note = """
        The credentials of object storage are read from AWS_ACCESS_KEY_ID and
        AWS_SECRET_ACCESS_KEY, and from AWS_SESSION_TOKEN where they are temporary.
        """

    /// The object storage; nil if the files are beside the database.
    let objects: ObjectStorageOptions?

    init(_ arguments: Arguments) throws(UsageError) {
        guard let text = arguments["--asset-storage"] else {
            for name in ["--s3-endpoint", "--s3-region"] where arguments.has(name) {
                throw UsageError("'\(name)' needs '--asset-storage s3://BUCKET'.")
            }
            objects = nil
            return
        }
        let (bucket, prefix) = try Self.place(text)
        let region = arguments["--s3-region"] ?? CloudAddress.variable("AWS_REGION") ?? "us-east-1"
        guard Self.isSafe(region) else { throw UsageError("'--s3-region' or AWS_REGION: '\(region)' is no region.") }
        let endpoint =
            arguments["--s3-endpoint"] ?? CloudAddress.variable("AWS_ENDPOINT_URL")
            ?? "https://s3.\(region).amazonaws.com"
        guard let accessKey = CloudAddress.variable("AWS_ACCESS_KEY_ID"),
            let secretKey = CloudAddress.variable("AWS_SECRET_ACCESS_KEY")
        else {
            throw UsageError(
                "object storage needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.")
        }
        objects = ObjectStorageOptions(
            endpoint: try Self.endpoint(endpoint), bucket: bucket, prefix: prefix, region: region, accessKey: accessKey,
            secretKey: secretKey, sessionToken: CloudAddress.variable("AWS_SESSION_TOKEN"))
    }

    private static func place(_ text: String) throws(UsageError) -> (bucket: String, prefix: String) {
        guard text.hasPrefix("s3://") else {
            throw UsageError(
                "'\(MaskedURL.wrong(text))' is unknown: '--asset-storage' takes s3://BUCKET or s3://BUCKET/PREFIX.")
        }
        let parts = text.dropFirst(5).split(separator: "/", omittingEmptySubsequences: false)
        var names = parts.map(String.init)
        if names.count > 1, names.last == "" { names.removeLast() }
        guard names.allSatisfy(isSafe) else {
            throw UsageError(
                "'\(text)' cannot be used: a bucket, and each part of a prefix, is letters, digits, '.', '-' and '_'.")
        }
        return (names[0], names.dropFirst().joined(separator: "/"))
    }

    /// Whether a name needs no percent escapes in a URL. The signature would have to match the escapes.
    private static func isSafe(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".."
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func endpoint(_ text: String) throws(UsageError) -> String {
        let text = text.hasSuffix("/") ? String(text.dropLast()) : text
        let host = text.hasPrefix("https://") ? text.dropFirst(8) : text.hasPrefix("http://") ? text.dropFirst(7) : ""
        guard !host.isEmpty, !host.contains("/"), !host.contains("@"), !host.contains("?"), !host.contains(" ") else {
            throw UsageError(
                "'--s3-endpoint' or AWS_ENDPOINT_URL: '\(MaskedURL.wrong(text))' is no address of object storage, for example "
                    + "https://s3.example.org:9000.")
        }
        return text
    }

    /// The place in object storage, `s3://BUCKET/PREFIX`; nil if the files are beside the database.
    var address: String? {
        objects.map { "s3://\($0.bucket)\($0.prefix.isEmpty ? "" : "/\($0.prefix)")" }
    }

    /// Returns the location of the files: the object storage, or the given directory without one.
    func place(or directory: String) -> AssetPlace { address.map { .objects($0) } ?? .directory(directory) }

    /// Checks that the bucket can be accessed, and returns the requests for it; nil without an object storage.
    /// - Parameter writes: whether an object is stored, read and deleted too.
    /// - Throws: `StorageError` with the answer of the object storage.
    func requests(checking writes: Bool = false) async throws -> ObjectRequests? {
        guard let objects else { return nil }
        let requests = ObjectRequests(objects)
        try await BlockingPool.network.run {
            do {
                try requests.check()
                if writes { try requests.checkWrites() }
            } catch let error as StorageError {
                throw StorageError(
                    error.code,
                    "The bucket '\(objects.bucket)' at \(objects.endpoint) cannot be used: \(error.message).")
            }
        }
        return requests
    }
}
