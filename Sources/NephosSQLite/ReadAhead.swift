import CSQLite
import NephosStorage

/// Has the processor fetch the records that an index names next, before SQLite goes for them one by one.
///
/// The records of a page of results lie anywhere. In a file that is larger than the processor's caches each is waited
/// for some ten times, on the way through the pages above it and at the row, and for all together that takes as long as
/// the work. The ways to different records do not depend on one another: gone side by side, they are waited for together.
/// What is seen on them is used for nothing else, so that it may be out of date.
final class ReadAhead: RecordsAhead {
    private let view: FileView
    private let pages: InteriorPages

    /// How many records are still wanted, and the leaf whose entries were seen to.
    private var wanted = 0
    private var seen: UnsafeRawPointer?
    /// How many rows the processor was told to fetch since the beginning.
    private(set) var fetched = 0
    private let ways = UnsafeMutableBufferPointer<Way>.allocate(capacity: 256)

    /// The way to a record: the page that it has led to, and between which of its cells it leads on.
    private struct Way {
        let record: Int64
        let page: UnsafeRawPointer
        private(set) var low = 0
        private(set) var high = 0
        /// What is looked at next: where the page says that the cell in the middle is, or that cell.
        var next: UnsafeRawPointer

        /// Begins at a page.
        init(to record: Int64, _ page: UnsafeRawPointer) {
            self.record = record
            self.page = page
            next = page
            nephos_prefetch(page)
        }

        /// Sets the cells between which it leads on.
        @inline(__always) mutating func go(from low: Int, to high: Int, _ kind: TreePage.Kind, _ pageSize: Int) {
            self.low = low
            self.high = high
            next = TreePage(bytes: page, size: pageSize).place(of: Self.middle(low, high), kind)
            nephos_prefetch(next)
        }

        /// The cell to look at: where the search has ended, the one before, or other bytes of the page, which decide
        /// nothing then.
        @inline(__always) static func middle(_ low: Int, _ high: Int) -> Int { (low &+ high &- 1) >> 1 }
    }

    init(_ view: FileView) {
        self.view = view
        pages = view.mapping.interiorPages
    }

    deinit { ways.deallocate() }

    func begin(wanted: Int) {
        self.wanted = wanted
        seen = nil
        fetched = 0
        view.indexLeaf = nil
        view.tableInterior = nil
    }

    func passed(_ record: RowNumber) {
        wanted -= 1
        if let page = view.tableInterior {
            pages[record.value] = view.mapping.offset(of: page) / view.pageSize + 1
            // For the next record SQLite may read its page from the log, and not ask for it here.
            view.tableInterior = nil
        }
        guard let leaf = view.indexLeaf, leaf != seen else { return }
        seen = leaf
        for index in 0..<find(behind: record.value, in: leaf, atMost: wanted) {
            guard let row = row(index) else { continue }
            Self.prefetch(row.bytes)
            fetched += 1
        }
    }

    /// Looks for the records that the entries behind that of `record` are of, below the pages where they were seen.
    /// - Returns: how many may be there; `row` tells which are.
    func find(behind record: Int64, in leaf: UnsafeRawPointer, atMost most: Int) -> Int {
        let count = begin(behind: record, in: TreePage(bytes: leaf, size: view.pageSize), atMost: most)
        search(.tableInterior, count)
        let arrived = descend(count)
        search(.tableLeaf, arrived)
        return arrived
    }

    /// A row that was found, as far as it lies on its page; nil where it is not there.
    func row(_ index: Int) -> (record: Int64, bytes: UnsafeRawBufferPointer)? {
        let way = ways[index]
        let page = TreePage(bytes: way.page, size: view.pageSize)
        guard page.kind == .tableLeaf, way.low < page.cellCount, page.row(way.low) == way.record else { return nil }
        return (way.record, page.content(way.low))
    }

    /// Begins the ways to the next records.
    private func begin(behind record: Int64, in leaf: TreePage, atMost most: Int) -> Int {
        guard most > 0, leaf.kind == .indexLeaf else { return 0 }
        Self.prefetch(UnsafeRawBufferPointer(start: leaf.bytes, count: leaf.size))
        let most = min(most, ways.count)
        var count = 0
        var isBehind = false
        for cell in 0..<leaf.cellCount {
            guard let number = leaf.lastNumber(cell) else { continue }
            guard isBehind else {
                isBehind = number == record
                continue
            }
            guard let page = page(pages[number]) else { continue }
            ways[count] = Way(to: number, page)
            count += 1
            if count == most { break }
        }
        return count
    }

    /// Searches the pages of all ways for the record's cell or the one behind it, each step at one cell of every page:
    /// at that which SQLite will look at. The next bytes of each page are fetched while the others are seen to.
    @inline(__always) private func search(_ kind: TreePage.Kind, _ count: Int) {
        let size = view.pageSize
        var most = 0
        for index in 0..<count {
            let page = TreePage(bytes: ways[index].page, size: size)
            let cells = page.kind == kind ? page.cellCount : 0
            ways[index].go(from: 0, to: cells, kind, size)
            most = max(most, cells)
        }
        for _ in 0..<(Int.bitWidth - most.leadingZeroBitCount) {
            for index in 0..<count {
                ways[index].next = TreePage(bytes: ways[index].page, size: size).cell(at: ways[index].next)
                nephos_prefetch(ways[index].next)
            }
            for index in 0..<count {
                let (low, high) = (ways[index].low, ways[index].high)
                let middle = Way.middle(low, high)
                // Where it goes on is chosen without branches: a processor that guesses waits for each page in turn.
                let isOpen = Self.mask(low < high)
                let isBelow = Self.mask(TreePage.row(at: ways[index].next, kind) < ways[index].record)
                ways[index].go(
                    from: Self.choose(middle &+ 1, isBelow & isOpen, else: low),
                    to: Self.choose(middle, ~isBelow & isOpen, else: high), kind, size)
            }
        }
    }

    /// All bits, or none.
    @inline(__always) private static func mask(_ condition: Bool) -> Int { 0 &- (condition ? 1 : 0) }

    /// The one with all bits, the other with none.
    @inline(__always) private static func choose(_ one: Int, _ mask: Int, else other: Int) -> Int {
        other ^ ((other ^ one) & mask)
    }

    /// Leads every way to the page below.
    /// - Returns: how many go on: these are then the first.
    private func descend(_ count: Int) -> Int {
        var kept = 0
        for index in 0..<count {
            let (record, above) = (ways[index].record, TreePage(bytes: ways[index].page, size: view.pageSize))
            guard above.kind == .tableInterior, let below = page(above.child(ways[index].low)) else { continue }
            ways[kept] = Way(to: record, below)
            kept += 1
        }
        return kept
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
