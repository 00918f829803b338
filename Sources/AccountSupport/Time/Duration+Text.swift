extension Duration {
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

    /// The duration for messages: "250 ms", "5 s", "2 min", "8 h", "30 days".
    package var text: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return switch milliseconds {
        case ..<1000: "\(milliseconds) ms"
        case ..<120_000: "\(milliseconds / 1000) s"
        case ..<7_200_000: "\(milliseconds / 60_000) min"
        case ..<172_800_000: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) days"
        }
    }
}
