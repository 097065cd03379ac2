import Testing

@testable import CloudKit
@testable import CloudKitTesting

@Suite struct SimulatedLaunchTests {
    @Test func `an app that ends at an event handles none, though two engines hand one over at the same time`()
        async
    {
        let launch = SimulatedLaunch(seed: 1, realTimeLimit: .seconds(20), executors: SimulationExecutors())
        let handled = Box(0)
        let event = CKSyncEngine.Event.didSendChanges(.init(context: .init(reason: .manual, options: .init())))
        launch.endAtEvent(2)
        for _ in 0..<4 {
            launch.start {
                if await launch.mayHandle(event) { handled.value += 1 }
            }
        }
        _ = await launch.rest()
        #expect(launch.isAtEvent)
        #expect(handled.value == 1)
        launch.end()
        launch.release()
        while !launch.isIdle { await Task.yield() }
        #expect(handled.value == 1)
    }
}
