import Foundation
import NephosWire

/// The properties of an asset that an archive contains.
struct ArchivedAsset {
    var fileURL: URL?
    var wireValue: AssetValue?

    init(_ asset: CKAsset) {
        fileURL = asset.fileURL
        wireValue = asset.wireValue
    }

    init(coder: NSCoder) {
        fileURL = coder.object(of: NSURL.self, forKey: ArchiveKey.assetFileURL).map { $0 as URL }
        func base64(_ key: String) -> String? {
            coder.object(of: NSData.self, forKey: key)?.base64EncodedString()
        }
        wireValue = base64(ArchiveKey.assetSignature).map { signature in
            AssetValue(
                fileChecksum: signature, size: coder.decodeInt64(forKey: ArchiveKey.assetSize),
                receipt: coder.string(forKey: ArchiveKey.assetUploadReceipt),
                wrappingKey: base64(ArchiveKey.assetWrappedKey),
                referenceChecksum: base64(ArchiveKey.assetReferenceSignature),
                downloadURL: coder.object(of: NSURL.self, forKey: ArchiveKey.assetDownloadURL)?.absoluteString)
        }
    }

    func encode(with coder: NSCoder) {
        if let fileURL { coder.encode(fileURL as NSURL, forKey: ArchiveKey.assetFileURL) }
        guard let value = wireValue else { return }
        func encode(base64 text: String?, forKey key: String) {
            guard let data = text.flatMap({ NSData(base64Encoded: $0) }) else { return }
            coder.encode(data, forKey: key)
        }
        encode(base64: value.fileChecksum, forKey: ArchiveKey.assetSignature)
        encode(base64: value.wrappingKey, forKey: ArchiveKey.assetWrappedKey)
        encode(base64: value.referenceChecksum, forKey: ArchiveKey.assetReferenceSignature)
        coder.encode(true, forKey: ArchiveKey.assetHasSize)
        coder.encode(value.size, forKey: ArchiveKey.assetSize)
        coder.encode(value.receipt as NSString?, forKey: ArchiveKey.assetUploadReceipt)
        coder.encode(value.downloadURL.flatMap { NSURL(string: $0) }, forKey: ArchiveKey.assetDownloadURL)
    }
}
