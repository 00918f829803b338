import AccountSupport
import Testing

struct BackOffTests {
    @Test func `Doubles each back-off pause up to the limit`() {
        let backOff = BackOff(first: 2, longest: 60)
        #expect((1...7).map(backOff.pause) == [2, 4, 8, 16, 32, 60, 60])
    }

    @Test(arguments: [Int.min, -1, 0]) func `Treats fewer than one failure as one failure`(count: Int) {
        #expect(BackOff(first: 3, longest: 60).pause(after: count) == 3)
    }

    @Test func `Returns a back-off pause for any number of failures`() {
        #expect(BackOff(first: 0.5, longest: 10).pause(after: .max) == 10)
    }
}
