/// The object storage for files, with its bucket and credentials. The storage uses Amazon's S3 protocol, as AWS, MinIO,
/// Ceph, Garage and many others do.
package struct ObjectStorageOptions: Sendable {
    /// The URL of the endpoint without a trailing slash, such as `https://s3.eu-central-1.amazonaws.com`. Requests name
    /// the bucket in the path.
    package var endpoint: String
    package var bucket: String
    /// The prefix of all keys, without a trailing slash; empty for none.
    package var prefix: String
    package var region: String
    package var accessKey: String
    package var secretKey: String
    /// The session token of temporary credentials; nil for permanent credentials.
    package var sessionToken: String?
    /// The path of a file of PEM certificates that are trusted instead of the system's; nil for the system's.
    package var certificates: String?
    package var limits = Limits()

    /// The limits of requests and retries. Slow servers and transient failures are common.
    package struct Limits: Sendable {
        /// The maximum number of attempts per request.
        package var attempts = 4
        /// The idle time-out of a request.
        package var silence = Duration.seconds(20)
        /// The wait before the second attempt. The wait doubles with each further attempt (exponential back-off).
        package var firstWait = Duration.milliseconds(200)

        package init() {}
    }

    package init(
        endpoint: String, bucket: String, prefix: String = "", region: String, accessKey: String, secretKey: String,
        sessionToken: String? = nil, certificates: String? = nil
    ) {
        self.endpoint = endpoint
        self.bucket = bucket
        self.prefix = prefix
        self.region = region
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.certificates = certificates
    }
}
