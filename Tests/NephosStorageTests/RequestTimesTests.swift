import Testing

@testable import NephosStorage

/// The times of a request's stages.
@Suite struct RequestTimesTests {
    @Test func `the stages add up to the total in any order`() {
        let times = RequestTimes(at: 1000)
        times.enter(.queue, at: 1010)
        times.enter(.storage, at: 1030)
        times.enter(.commit, at: 1100)
        times.enter(.service, at: 1500)
        times.move(300, from: .commit, to: .checkpoint)
        times.enter(.encoding, at: 1501)
        let nanoseconds = times.nanoseconds(at: 1600)
        #expect(nanoseconds == [11, 20, 70, 100, 300, 99, 0])
        #expect(nanoseconds.reduce(0, +) == 600)
    }

    @Test func `a stage gives away at most the time it has`() {
        let times = RequestTimes(at: 0)
        times.enter(.commit, at: 0)
        times.enter(.service, at: 5)
        times.move(50, from: .commit, to: .checkpoint)
        #expect(times.nanoseconds(at: 5).reduce(0, +) == 5)
    }
}
