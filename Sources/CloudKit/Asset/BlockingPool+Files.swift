import NephosThreads

extension BlockingPool {
    /// The threads for asset files, so that disk access blocks neither Swift's tasks nor the HTTP thread of the
    /// library.
    static let files = BlockingPool("files", Options(threads: 4))
}
