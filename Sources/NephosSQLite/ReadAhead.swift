import CSQLite
import NephosStorage

/// Has the processor fetch the records that an index names next, before SQLite goes for them one by one.
///
/// The records of a page of results lie anywhere. In a file that is larger than the processor's caches each is waited for a
/// few times, at its page, at the row's place in it, at the row, and for all together that takes as long as the work.
/// Asked for side by side, they are waited for together. What is seen of pages here is used for nothing else, so that it
/// may be out of date.
final class ReadAhead: RecordsAhead {
    private let view: FileView
    private let pages: RecordPages

    /// How many records are still wanted, and the leaf whose entries were seen to.
    private var wanted = 0
    private var seen: UnsafeRawPointer?
    /// How many rows the processor was told to fetch since the beginning.
    private(set) var fetched = 0
    private let places = UnsafeMutableBufferPointer<Place>.allocate(capacity: 256)

    /// A page that a record is thought to be on, and between which of its cells.
    private struct Place {
        let record: Int64
        let page: UnsafeRawPointer
        var low = 0
        var high = 0
    }

    init(_ view: FileView) {
        self.view = view
        pages = view.mapping.recordPages
    }

    deinit { places.deallocate() }

    func begin(wanted: Int) {
        self.wanted = wanted
        seen = nil
        fetched = 0
        view.indexLeaf = nil
        view.tableLeaf = nil
    }

    func passed(_ record: RowNumber) {
        wanted -= 1
        // SQLite does not ask again for the page that it is at.
        if let page = view.tableLeaf { pages[record.value] = view.mapping.offset(of: page) / view.pageSize + 1 }
        guard let leaf = view.indexLeaf, leaf != seen else { return }
        seen = leaf
        for index in 0..<find(behind: record.value, in: leaf, atMost: wanted) {
            guard let row = row(index) else { continue }
            Self.prefetch(row.bytes)
            fetched += 1
        }
    }

    /// Looks for the records that the entries behind that of `record` are of, where they were seen last.
    /// - Returns: how many may be there; `row` tells which are.
    func find(behind record: Int64, in leaf: UnsafeRawPointer, atMost most: Int) -> Int {
        let count = gather(behind: record, in: TreePage(bytes: leaf, size: view.pageSize), atMost: most)
        search(count)
        return count
    }

    /// A row that was found, as far as it lies on its page; nil where it is not there.
    func row(_ index: Int) -> (record: Int64, bytes: UnsafeRawBufferPointer)? {
        let place = places[index]
        let page = TreePage(bytes: place.page, size: view.pageSize)
        guard page.isTableLeaf, place.low < page.cellCount, page.row(place.low) == place.record else { return nil }
        return (place.record, page.content(place.low))
    }

    /// Gathers the pages that the next records are thought to be on. The processor fetches all of them meanwhile.
    private func gather(behind record: Int64, in leaf: TreePage, atMost most: Int) -> Int {
        guard most > 0, leaf.isIndexLeaf else { return 0 }
        Self.prefetch(UnsafeRawBufferPointer(start: leaf.bytes, count: leaf.size))
        let most = min(most, places.count)
        var count = 0
        var isBehind = false
        for cell in 0..<leaf.cellCount {
            guard let number = leaf.lastNumber(cell) else { continue }
            guard isBehind else {
                isBehind = number == record
                continue
            }
            guard let page = page(pages[number]) else { continue }
            nephos_prefetch(page)
            places[count] = Place(record: number, page: page)
            count += 1
            if count == most { break }
        }
        return count
    }

    /// Searches all pages as SQLite will, each step at one cell of every page.
    private func search(_ count: Int) {
        let pageSize = view.pageSize
        var most = 0
        for index in 0..<count {
            let page = TreePage(bytes: places[index].page, size: pageSize)
            places[index].high = page.isTableLeaf ? page.cellCount : 0
            most = max(most, places[index].high)
        }
        for _ in 0..<(Int.bitWidth - most.leadingZeroBitCount) {
            for index in 0..<count {
                let (low, high) = (places[index].low, places[index].high)
                guard low < high else { continue }
                let middle = (low &+ high &- 1) >> 1
                if TreePage(bytes: places[index].page, size: pageSize).row(middle) < places[index].record {
                    places[index].low = middle &+ 1
                } else {
                    places[index].high = middle
                }
            }
        }
    }

    /// A page where pages were looked at before: hardly one of these is waited for.
    private func page(_ number: Int) -> UnsafeRawPointer? {
        view.mapping.seenBytes(at: (number - 1) * view.pageSize, count: view.pageSize)
    }

    private static func prefetch(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        // Lines of 64 bytes, the first and the last in part.
        let line = Int(bitPattern: start) & 63
        for offset in stride(from: -line, to: bytes.count, by: 64) { nephos_prefetch(start + offset) }
    }
}
