import AccountSupport
import Testing

struct DurationTextTests {
    @Test(arguments: [
        (Duration.zero, "0 ms"), (.milliseconds(250), "250 ms"), (.milliseconds(999), "999 ms"), (.seconds(1), "1 s"),
        (.milliseconds(2500), "2 s"), (.seconds(119), "119 s"), (.seconds(120), "2 min"), (.seconds(3600), "60 min"),
        (.seconds(7199), "119 min"), (.seconds(7200), "2 h"), (.seconds(47 * 3600), "47 h"),
        (.seconds(48 * 3600), "2 days"), (.seconds(365 * 86400), "365 days"),
    ])
    func `Prints a duration in a readable unit`(duration: Duration, text: String) {
        #expect(duration.text == text)
    }
}
