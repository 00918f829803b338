extension Duration {
    /// In words, for a person: "5 s", "2 min", "250 ms".
    package var text: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return switch milliseconds {
        case ..<1000: "\(milliseconds) ms"
        case ..<120_000: "\(milliseconds / 1000) s"
        default: "\(milliseconds / 60_000) min"
        }
    }
}
