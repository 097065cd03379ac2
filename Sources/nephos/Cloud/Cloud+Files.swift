import NephosHTTP
import NephosService
import NephosWire

/// Transfers of asset files. Only one piece of a file is in memory at a time.
extension Cloud {
    /// Returns an upload URL for each field, in the order of the fields.
    func uploadAddresses(_ fields: [AssetField], in zone: ZoneIDDictionary?) throws -> [String] {
        var addresses: [String] = []
        for start in stride(from: 0, to: fields.count, by: Limits.uploadTokensPerRequest) {
            let some = Array(fields[start..<min(start + Limits.uploadTokensPerRequest, fields.count)])
            let answer = try request(
                "assets/upload", AssetUploadRequest(zoneID: zone, tokens: some), as: AssetUploadResponse.self)
            guard answer.tokens.count == some.count else { throw Failure(message: "the answer lacks upload addresses") }
            for result in answer.tokens {
                switch result {
                case .token(let token): addresses.append(token.url)
                case .failure(let error): throw Failure(message: error.reason, clientErrorCode: error.clientErrorCode)
                }
            }
        }
        return addresses
    }

    /// Uploads a file.
    /// - Returns: the value that a record's field needs to refer to the file.
    func upload(_ file: String, size: Int64, to address: String) throws -> AssetValue {
        let parts = try AssetAddressParts(address)
        if let local {
            let (container, environment) = (container, try serviceEnvironment())
            return try result { () async throws(ServiceError) in
                let upload = try await local.service.beginUpload(
                    parts.token, size: size, container: container, environment, requestID: "")
                try await upload.append(contentsOfFile: file, progress: { _ in })
                return try await upload.finish().singleFile
            }
        }
        let answer = try connection { server throws(ServerConnection.Failure) in
            try server.upload(parts.target, file: file)
        }
        return try (decoded(answer) as UploadedFile).singleFile
    }

    /// Downloads a file. No file may exist at the path.
    /// - Throws: `FileFailure` if the service refuses the download, or `Failure` if the service cannot be reached.
    func download(_ address: String, to file: String) throws {
        let parts = try AssetAddressParts(address)
        if let local {
            let (container, environment) = (container, try serviceEnvironment())
            do throws(Failure) {
                try result { () async throws(ServiceError) in
                    let asset = try await local.service.openAsset(
                        parts.content, parts.token, container: container, environment, requestID: "")
                    try await asset.copy(toFile: file, progress: { _ in })
                }
            } catch {
                throw FileFailure(message: error.message)
            }
            return
        }
        let answer = try connection { server throws(ServerConnection.Failure) in
            try server.download(parts.target, to: file)
        }
        guard answer.status == 200 else {
            let error = try? ErrorDictionary(decoding: answer.body)
            throw FileFailure(message: error?.reason ?? "the service answers with status \(answer.status)")
        }
    }

    /// The reason why the file of a record is not available.
    struct FileFailure: Error {
        var message: String
    }

    private func serviceEnvironment() throws(Failure) -> ContainerEnvironment {
        guard let environment = ContainerEnvironment(rawValue: address.environment) else {
            throw Failure(message: "'\(address.environment)' is no environment.")
        }
        return environment
    }

    private func connection<Answer>(
        _ body: (ServerConnection) throws(ServerConnection.Failure) -> Answer
    ) throws(Failure) -> Answer {
        let connection = try address.connection(isAdministration: false)
        do throws(ServerConnection.Failure) {
            return try body(connection)
        } catch {
            throw Failure(message: error.description)
        }
    }

    private func result<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(ServiceError) -> Value
    ) throws(Failure) -> Value {
        let result = waiting { () async -> Result<Value, ServiceError> in
            do throws(ServiceError) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let value): return value
        case .failure(let error): throw Failure(message: error.reason, clientErrorCode: error.clientCode.rawValue)
        }
    }
}

/// The components of a file's URL (`AssetAddress`).
struct AssetAddressParts {
    /// The request target. It is sent to the server of the command, whatever host the URL names.
    let target: String
    /// The name of the content; empty in an upload URL.
    let content: String
    let token: String

    init(_ address: String) throws(Cloud.Failure) {
        guard let host = address.firstRange(of: "://"), let slash = address[host.upperBound...].firstIndex(of: "/")
        else {
            throw Cloud.Failure(message: "the service answers with an address that is none: \(address)")
        }
        target = String(address[slash...])
        // The path is `/assets/1/{container}/{environment}/{content}/{token}/…`.
        let parts = target.split(separator: "/").map(String.init)
        guard parts.count > 5, parts[0] == AssetAddress.module, parts[1] == AssetAddress.version else {
            throw Cloud.Failure(message: "the service answers with an address that is not one of Nephos: \(address)")
        }
        (content, token) = (parts[4], parts[5])
    }
}
