/// A FIFO queue whose first element is removed without moving the others.
package struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0
    package init() {}

    package var count: Int { elements.count - head }

    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024 {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    package mutating func removeAll() -> [Element] {
        defer { self = Queue() }
        return elements.compactMap { $0 }
    }

    /// Removes and returns the first element for which `isWanted` returns true; nil if there is none.
    package mutating func removeFirst(where isWanted: (Element) -> Bool) -> Element? {
        guard let index = elements[head...].firstIndex(where: { $0.map(isWanted) ?? false }) else { return nil }
        return elements.remove(at: index)
    }
}
