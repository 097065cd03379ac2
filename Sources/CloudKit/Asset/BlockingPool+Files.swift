import NephosThreads

extension BlockingPool {
    /// The files of assets: neither Swift's tasks nor the library's thread for HTTP wait for a disk.
    static let files = BlockingPool("files", Options(threads: 4))
}
