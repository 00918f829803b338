import AccountSupport
import Testing

/// Columns of a table stay aligned for text of any script.
@Suite struct ColumnCountTests {
    @Test(
        arguments: [
            ("", 0), ("alice@example.com", 17), ("Zoë", 3), ("Zoe\u{308}", 3), ("アリス", 6), ("ｱﾘｽ", 3), ("Ａ", 2),
            ("한국", 4), ("\u{1112}\u{1161}\u{11AB}", 2), ("你好, 世界", 10), ("👩🏽‍💻", 2), ("👨‍👩‍👧‍👦 x", 4), ("❤️‍🔥", 2), ("❤", 1),
            ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", 2), ("🇩🇪🇫🇷", 4), ("1️⃣", 2), ("می\u{200C}خواهم", 7), ("שלום\u{200F}", 4), ("क्\u{200D}ष", 2),
            ("Dampf\u{AD}", 6), ("\u{FEFF}a", 1), ("\u{200B}", 0), ("a\u{FFFD}", 2),
        ])
    func `Counts the columns of a text on a terminal`(text: String, count: Int) {
        #expect(text.columnCount == count)
        #expect(text.padding(to: 20) == text + String(repeating: " ", count: 20 - count))
    }

    @Test func `Pads no text that is longer than the column`() {
        #expect("アリス".padding(to: 5) == "アリス" && "アリス".padding(to: -1) == "アリス")
    }
}
