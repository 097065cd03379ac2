import NephosThreads

extension BlockingPool {
    /// Threads for asset files: disk access blocks neither Swift's tasks nor the library's HTTP thread.
    static let files = BlockingPool("files", Options(threads: 4))
}
