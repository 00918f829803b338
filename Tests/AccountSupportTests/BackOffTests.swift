import AccountSupport
import Testing

struct BackOffTests {
    @Test func `Doubles each back-off pause up to the limit`() {
        let backOff = BackOff(first: 2, longest: 60)
        #expect([Int.min, 0, 1, 2, 5, 6, 7, .max].map(backOff.pause) == [2, 2, 2, 4, 32, 60, 60, 60])
    }
}
