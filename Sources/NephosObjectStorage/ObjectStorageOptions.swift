/// Which bucket of which object storage keeps files, and the credentials. The storage speaks Amazon's S3 protocol: AWS, MinIO, Ceph,
/// Garage and many more do.
package struct ObjectStorageOptions: Sendable {
    /// Where it is, without a slash at the end: `https://s3.eu-central-1.amazonaws.com`. Buckets are in the path.
    package var endpoint: String
    package var bucket: String
    /// What the keys of all objects begin with, without a slash at the end; empty for nothing.
    package var prefix: String
    package var region: String
    package var accessKey: String
    package var secretKey: String
    /// With temporary credentials; nil without.
    package var sessionToken: String?
    /// A file of PEM certificates that are trusted instead of the system's; nil for the system's.
    package var certificates: String?
    package var limits = Limits()

    /// How long it is tried. A slow server and one that fails now and then are usual.
    package struct Limits: Sendable {
        /// How often a request is sent at most.
        package var attempts = 4
        /// How long nothing may arrive or be sent.
        package var silence = Duration.seconds(20)
        /// The wait before the second attempt; each further one is twice as long.
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
