/// The object storage, bucket and credentials for files. The storage speaks Amazon's S3 protocol: AWS, MinIO, Ceph,
/// Garage and many more do.
package struct ObjectStorageOptions: Sendable {
    /// The endpoint without a trailing slash: `https://s3.eu-central-1.amazonaws.com`. Buckets are in the path.
    package var endpoint: String
    package var bucket: String
    /// The prefix of all objects' keys, without a trailing slash; empty for none.
    package var prefix: String
    package var region: String
    package var accessKey: String
    package var secretKey: String
    /// The token of temporary credentials; nil for others.
    package var sessionToken: String?
    /// A file of PEM certificates to trust instead of the system's; nil for the system's.
    package var certificates: String?
    package var limits = Limits()

    /// Retry limits. Slow servers and transient failures are common.
    package struct Limits: Sendable {
        /// The maximum number of attempts per request.
        package var attempts = 4
        /// The idle time-out.
        package var silence = Duration.seconds(20)
        /// The wait before the second attempt; it doubles with each further one (exponential back-off).
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
