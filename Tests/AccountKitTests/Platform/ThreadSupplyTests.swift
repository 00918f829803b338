import Testing

@testable import AccountKit

@Suite struct ThreadSupplyTests {
    @Test func `A process without a limit can start its threads, again and again`() {
        for _ in 0..<20 { #expect(ThreadSupply.canStart(8)) }
        #expect(ThreadSupply.canStart(0))
        #expect(ThreadSupply.isSufficient && ThreadSupply.isSufficient)
    }

    @Test func `A process without a limit can open its files, again and again`() {
        for _ in 0..<1_000 { #expect(ThreadSupply.canOpen(64)) }
        #expect(ThreadSupply.canOpen(0))
    }
}
