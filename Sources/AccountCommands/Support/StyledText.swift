import AccountSupport

/// Text for the user, with a symbol in front and parts in bold on a terminal.
///
/// ```swift
/// Terminal.say(.success, "Signed in as \(bold: name).")
/// ```
package struct StyledText: ExpressibleByStringInterpolation {
    /// A symbol that shows the outcome of a command.
    package enum Mark {
        case success, warning, failure

        fileprivate var symbol: String {
            switch self {
            case .success: "✓"
            case .warning: "!"
            case .failure: "✗"
            }
        }

        /// Green, yellow and red (ECMA-48, section 8.3.117).
        fileprivate var color: Int {
            switch self {
            case .success: 32
            case .warning: 33
            case .failure: 31
            }
        }
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var parts: [(text: String, isBold: Bool)] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { parts.append((literal, false)) }

        package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            parts.append((value.description.shown, false))
        }

        package mutating func appendInterpolation(bold value: some CustomStringConvertible) {
            parts.append((value.description.shown, true))
        }
    }

    private let parts: [(text: String, isBold: Bool)]

    package init(stringLiteral text: String) { parts = [(text, false)] }

    package init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

    package init(_ text: String) { self.init(stringLiteral: text) }

    /// Returns the text for a stream. Text from a service cannot control the terminal, and an interpolated value cannot
    /// add lines.
    package func rendered(with mark: Mark? = nil, isStyled: Bool) -> String {
        let text = parts.map { part in
            let lines = part.text.split(separator: "\n", omittingEmptySubsequences: false)
            let shown = lines.map { String($0).shown }.joined(separator: "\n")
            return isStyled && part.isBold ? "\u{1B}[1m\(shown)\u{1B}[0m" : shown
        }.joined()
        guard isStyled, let mark else { return text }
        return "\u{1B}[\(mark.color)m\(mark.symbol)\u{1B}[0m " + text
    }
}
